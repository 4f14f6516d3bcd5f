"""Image classifiers, and blocks of known ones."""

import keras
from keras import layers

from glsl_infer.importers.keras.layers import ChannelShuffle


def cbam() -> keras.Model:
    """Attention by channels and by places (Woo, 2018)."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    squeeze, excite = layers.Dense(4, activation="relu"), layers.Dense(16)
    mean = excite(squeeze(layers.GlobalAveragePooling2D()(x)))
    peak = excite(squeeze(layers.GlobalMaxPooling2D()(x)))
    gate = layers.Activation("sigmoid")(layers.Add()([mean, peak]))
    x = layers.Multiply()([x, layers.Reshape((1, 1, 16))(gate)])
    mean = keras.ops.mean(x, axis=-1, keepdims=True)
    peak = keras.ops.max(x, axis=-1, keepdims=True)
    where = layers.Concatenate()([mean, peak])
    where = layers.Conv2D(1, 7, padding="same", activation="sigmoid")(where)
    x = layers.GlobalAveragePooling2D()(layers.Multiply()([x, where]))
    return keras.Model(inputs, layers.Dense(4)(x))


def convnext_block() -> keras.Model:
    """A block of ConvNeXt (Liu, 2022): 7x7 depthwise, layer normalisation, GELU."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 4, strides=4)(inputs)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.DepthwiseConv2D(7, padding="same")(x)
    y = layers.LayerNormalization(epsilon=1e-6)(y)
    y = layers.Dense(32, activation="gelu")(y)
    y = layers.Dense(8)(y)
    x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(inputs, layers.Dense(5)(x))


def darknet_convolution(x, filters, size, stride=1):
    if stride > 1:
        x = layers.ZeroPadding2D(((1, 0), (1, 0)))(x)
    x = layers.Conv2D(filters, size, strides=stride, padding="valid" if stride > 1 else "same", use_bias=False)(x)
    return layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization(epsilon=0.001)(x))


def darknet() -> keras.Model:
    """Three stages of Darknet-53: a strided convolution, then a residual of 1x1 and 3x3, all with LeakyReLU."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = darknet_convolution(inputs, 4, 3)
    for filters in (8, 12, 16):
        x = darknet_convolution(x, filters, 3, stride=2)
        x = layers.add([x, darknet_convolution(darknet_convolution(x, filters // 2, 1), filters, 3)])
    return keras.Model(inputs, layers.Dense(6, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def dense_head() -> keras.Model:
    """A head of four dense layers behind a flattened map, with different activations."""
    model = keras.Sequential([keras.Input((24, 24, 3), name="picture")])
    model.add(layers.Conv2D(8, 5, strides=2, activation="relu"))
    model.add(layers.Conv2D(8, 3, strides=2, activation="relu"))
    model.add(layers.Flatten())
    model.add(layers.Dense(40, activation="elu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(24, activation="tanh"))
    model.add(layers.Dense(12, activation="relu"))
    model.add(layers.Dense(3, activation="sigmoid"))
    return model


def densenet_block() -> keras.Model:
    """A dense block and a transition of DenseNet (Huang, 2016)."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    for _ in range(3):
        y = layers.Activation("relu")(layers.BatchNormalization()(x))
        y = layers.Conv2D(8, 1, use_bias=False)(y)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.Conv2D(4, 3, padding="same", use_bias=False)(y)
        x = layers.Concatenate()([x, y])
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.AveragePooling2D(2)(layers.Conv2D(10, 1, use_bias=False)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(6)(x))


def eca() -> keras.Model:
    """Efficient channel attention (Wang, 2019): a convolution along the channels, as a Conv1D."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    gate = layers.GlobalAveragePooling2D()(x)
    gate = layers.Reshape((16, 1))(gate)
    gate = layers.Conv1D(1, 3, padding="same", use_bias=False)(gate)
    gate = layers.Activation("sigmoid")(layers.Reshape((1, 1, 16))(gate))
    x = layers.Multiply()([x, gate])
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))


def efficientnet_block() -> keras.Model:
    """An MBConv block of EfficientNet: SiLU, squeeze and excite with Reshape and Multiply."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="silu")(inputs)
    y = layers.Conv2D(16, 1, use_bias=False)(x)
    y = layers.Activation("swish")(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = layers.Activation("swish")(layers.BatchNormalization()(y))
    gate = layers.GlobalAveragePooling2D()(y)
    gate = layers.Reshape((1, 1, 16))(gate)
    gate = layers.Conv2D(4, 1, activation="swish")(gate)
    gate = layers.Conv2D(16, 1, activation="sigmoid")(gate)
    y = layers.multiply([y, gate])
    y = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(y))
    x = layers.add([layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y), x])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(7)(x))


def ghost(x, filters, relu=True):
    own = layers.Conv2D(filters // 2, 1, use_bias=False)(x)
    own = layers.BatchNormalization()(own)
    own = layers.ReLU()(own) if relu else own
    cheap = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(own)
    cheap = layers.BatchNormalization()(cheap)
    cheap = layers.ReLU()(cheap) if relu else cheap
    return layers.Concatenate()([own, cheap])


def ghostnet() -> keras.Model:
    """A ghost module (Han, 2019): half of the features are cheap copies by depthwise convolution."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Add()([x, ghost(ghost(x, 16), 8, relu=False)])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


def grey_input() -> keras.Model:
    """Signs of a hand from a grey picture."""
    return keras.Sequential(
        [
            keras.Input((28, 28, 1), name="hand"),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2, strides=2, padding="same"),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.Dropout(0.2),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2, strides=2, padding="same"),
            layers.Flatten(),
            layers.Dense(32, activation="relu"),
            layers.Dense(24, activation="softmax"),
        ]
    )


def inception_block() -> keras.Model:
    """A block of GoogLeNet (Szegedy, 2014): four branches side by side."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    branch = layers.Conv2D(8, 1, activation="relu")(x)
    three = layers.Conv2D(4, 1, activation="relu")(x)
    three = layers.Conv2D(8, 3, padding="same", activation="relu")(three)
    five = layers.Conv2D(4, 1, activation="relu")(x)
    five = layers.Conv2D(4, 5, padding="same", activation="relu")(five)
    pool = layers.MaxPooling2D(3, strides=1, padding="same")(x)
    pool = layers.Conv2D(4, 1, activation="relu")(pool)
    x = layers.Concatenate()([branch, three, five, pool])
    x = layers.AveragePooling2D(12)(x)
    return keras.Model(inputs, layers.Dense(6, activation="softmax")(layers.Flatten()(x)))


def lenet5() -> keras.Model:
    """LeNet-5 (LeCun, 1998): tanh, average pooling, three dense layers."""
    return keras.Sequential(
        [
            keras.Input((32, 32, 1), name="digit"),
            layers.Conv2D(6, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="tanh"),
            layers.Dense(84, activation="tanh"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def separable(x, filters, stride):
    if stride == 2:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layers.DepthwiseConv2D(3, strides=stride, padding="valid" if stride == 2 else "same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.Conv2D(filters, 1, use_bias=False)(x)
    return layers.ReLU(6.0)(layers.BatchNormalization()(x))


def inverted_residual(x, filters, stride, expand=4):
    channels = x.shape[-1]
    y = layers.Conv2D(expand * channels, 1, use_bias=False)(x)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(y)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 1, use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.Add()([x, y]) if stride == 1 and channels == filters else y


def mobilenet_v2_block() -> keras.Model:
    """Inverted residuals of MobileNet v2: expand, depthwise, project, and add."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu6")(x)
    x = inverted_residual(x, 8, 1)
    x = inverted_residual(x, 12, 2)
    x = inverted_residual(x, 12, 1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


def mobilenet_v3_block() -> keras.Model:
    """A block of MobileNet v3: 5x5 depthwise, squeeze and excite with a hard sigmoid, hard swish."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.Activation("hard_silu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(24, 1, use_bias=False)(x)
    y = layers.Activation("hard_silu")(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(5, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
    gate = layers.Conv2D(8, 1, activation="relu")(gate)
    gate = layers.Conv2D(24, 1, activation="hard_sigmoid")(gate)
    y = layers.Activation("hard_silu")(layers.Multiply()([y, gate]))
    y = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(y))
    x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def nested_sequential() -> keras.Model:
    """Transfer learning: augmentation, a base model and a head, each a model inside the model."""
    augment = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.RandomZoom(0.2)])
    base = keras.Sequential(name="base")
    base.add(keras.Input((32, 32, 3)))
    for filters in (8, 12):
        base.add(layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu"))
    inputs = keras.Input((32, 32, 3), name="picture")
    x = augment(inputs)
    x = layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = base(x, training=False)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


def normalised_inside() -> keras.Model:
    """Flowers: the model scales, normalises and resizes pictures itself."""
    inputs = keras.Input((40, 40, 3), name="flower")
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Normalization(mean=[0.485, 0.456, 0.406], variance=[0.229**2, 0.224**2, 0.225**2])(x)
    x = layers.CenterCrop(32, 32)(x)
    x = layers.Conv2D(8, 3, activation="relu")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(12, 3, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def not_square() -> keras.Model:
    """A number plate: a picture four times as wide as it is high, a class for each of six places."""
    inputs = keras.Input((16, 64, 3), name="plate")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D((2, 2))(x)
    x = layers.Conv2D(8, (3, 5), padding="same", activation="relu")(x)
    x = layers.AveragePooling2D((8, 8))(x)
    return keras.Model(inputs, layers.Conv2D(10, (1, 1), activation="softmax")(x))


def prelu_net() -> keras.Model:
    """A face network like MTCNN's first stage: PReLU with a slope for each channel, a map of boxes."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(10, 3)(inputs))
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(16, 3)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(16, 3)(x))
    face = layers.Conv2D(2, 1, activation="softmax", name="face")(x)
    return keras.Model(inputs, [face, layers.Conv2D(4, 1, name="box")(x)])


def preactivated_unit(x, filters):
    y = layers.Activation("relu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(filters // 2, 1, use_bias=False)(y)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters // 2, 3, padding="same", use_bias=False)(y)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    return layers.Add()([layers.Conv2D(filters, 1)(y), x])


def resnet_preactivated() -> keras.Model:
    """Two bottleneck units of ResNet v2: normalisation and ReLU before the convolutions."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.ZeroPadding2D(1)(inputs)
    x = layers.Conv2D(16, 3, strides=2)(x)
    x = preactivated_unit(preactivated_unit(x, 16), 16)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def shufflenet() -> keras.Model:
    """A unit of ShuffleNet (Zhang, 2017): grouped 1x1 convolutions, with this package's shuffle of channels between."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    y = layers.Conv2D(16, 1, groups=2, use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = ChannelShuffle(2)(y)
    y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    y = layers.Conv2D(16, 1, groups=2, use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


def xception_block() -> keras.Model:
    """A block of Xception (Chollet, 2016): separable convolutions, max pooling, and a strided shortcut."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, use_bias=False)(inputs)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    shortcut = layers.Conv2D(16, 1, strides=2, padding="same", use_bias=False)(x)
    shortcut = layers.BatchNormalization()(shortcut)
    x = layers.SeparableConv2D(16, 3, padding="same", use_bias=False)(x)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(16, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = layers.add([x, shortcut])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
