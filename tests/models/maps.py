"""Dense prediction and detection: masks, heat maps, anchors."""

import keras
from keras import layers


def change_detection() -> keras.Model:
    """What has changed between two pictures of a place: the absolute difference of their features."""
    before = keras.Input((24, 24, 3), name="before")
    after = keras.Input((24, 24, 3), name="after")
    features = layers.Conv2D(8, 3, padding="same", activation="relu")
    x = keras.ops.absolute(features(before) - features(after))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    return keras.Model([before, after], layers.Conv2D(1, 1, activation="sigmoid")(x))


def deeplab_head() -> keras.Model:
    """The head of DeepLab v3: dilated convolutions of several rates side by side, and the mean of the picture."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    branches = [layers.Conv2D(8, 1, activation="relu")(x)]
    for rate in (2, 4):
        branches.append(layers.Conv2D(8, 3, padding="same", dilation_rate=rate, activation="relu")(x))
    mean = layers.GlobalAveragePooling2D(keepdims=True)(x)
    mean = layers.Conv2D(8, 1, activation="relu")(mean)
    branches.append(layers.UpSampling2D((16, 16), interpolation="bilinear")(mean))
    x = layers.Concatenate()(branches)
    x = layers.Conv2D(8, 1, activation="relu")(x)
    x = layers.Conv2D(4, 1)(x)
    return keras.Model(inputs, layers.UpSampling2D(2, interpolation="bilinear")(x))


def fcn() -> keras.Model:
    """FCN-16s (Long, 2014): scores of two depths are added, then enlarged by transposed convolutions."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    middle = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    deep = layers.Conv2D(12, 3, padding="same", activation="relu")(layers.MaxPooling2D()(middle))
    score = layers.Conv2D(3, 1)(deep)
    score = layers.Conv2DTranspose(3, 4, strides=2, padding="same", use_bias=False)(score)
    score = layers.Add()([score, layers.Conv2D(3, 1)(middle)])
    score = layers.Conv2DTranspose(3, 4, strides=2, padding="same", use_bias=False)(score)
    return keras.Model(inputs, layers.Softmax()(score))


def fpn() -> keras.Model:
    """A feature pyramid (Lin, 2016): deep features are enlarged and added to those before."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    second = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(first)
    third = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(second)
    third = layers.Conv2D(8, 1)(third)
    second = layers.Add()([layers.UpSampling2D(2)(third), layers.Conv2D(8, 1)(second)])
    first = layers.Add()([layers.UpSampling2D(2)(second), layers.Conv2D(8, 1)(first)])
    smooth = [layers.Conv2D(8, 3, padding="same", name=f"level{i}")(x) for i, x in enumerate((first, second, third))]
    return keras.Model(inputs, smooth)


def mask_argmax() -> keras.Model:
    """Segmentation whose output is the class of each pixel."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(5, 1)(x)
    return keras.Model(inputs, keras.ops.argmax(x, axis=-1))


def pose_heatmaps() -> keras.Model:
    """SimpleBaseline for poses: three transposed convolutions give a heat map for each joint."""
    inputs = keras.Input((32, 24, 3), name="person")
    x = inputs
    for filters in (6, 8, 12):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    for _ in range(2):
        x = layers.Conv2DTranspose(8, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return keras.Model(inputs, layers.Conv2D(5, 1, name="heatmaps")(x))


def pyramid_pooling() -> keras.Model:
    """The pyramid of PSPNet (Zhao, 2016): means over regions of several sizes, enlarged and joined."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    parts = [x]
    for size in (12, 6, 4):
        y = layers.AveragePooling2D(size)(x)
        y = layers.Conv2D(4, 1, activation="relu")(y)
        parts.append(layers.UpSampling2D(size, interpolation="bilinear")(y))
    x = layers.Concatenate()(parts)
    x = layers.Conv2D(3, 3, padding="same", activation="softmax")(x)
    return keras.Model(inputs, x)


def ssd_head() -> keras.Model:
    """The head of SSD (Liu, 2016): boxes and classes of two maps, as rows."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    near = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(x)
    far = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(near)
    boxes, classes = [], []
    for feature in (near, far):
        box = layers.Conv2D(2 * 4, 3, padding="same")(feature)
        boxes.append(layers.Reshape((-1, 4))(box))
        label = layers.Conv2D(2 * 3, 3, padding="same")(feature)
        classes.append(layers.Reshape((-1, 3))(label))
    boxes = layers.Concatenate(axis=1, name="boxes")(boxes)
    classes = layers.Softmax(name="classes")(layers.Concatenate(axis=1)(classes))
    return keras.Model(inputs, [boxes, classes])


def double_convolution(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def unet() -> keras.Model:
    """U-Net (Ronneberger, 2015) with upsampling; a mask of one class by a sigmoid."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = double_convolution(inputs, 4)
    second = double_convolution(layers.MaxPooling2D()(first), 8)
    third = double_convolution(layers.MaxPooling2D()(second), 16)
    up = layers.UpSampling2D(2)(third)
    up = double_convolution(layers.Concatenate()([up, second]), 8)
    up = layers.UpSampling2D(2)(up)
    up = double_convolution(layers.Concatenate()([up, first]), 4)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid", name="mask")(up))


def yolo_head() -> keras.Model:
    """A head like YOLO's: for each cell of a grid and each anchor a box, a confidence and classes."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = inputs
    for filters in (8, 12, 16):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU(negative_slope=0.1)(x)
    anchors, classes = 3, 2
    x = layers.Conv2D(anchors * (5 + classes), 1, name="grid")(x)
    outputs = layers.Reshape((-1, 5 + classes), name="rows")(x)
    return keras.Model(inputs, layers.Activation("sigmoid")(outputs))
