// The index of a pixel's largest channel, stored as a byte. If several are equal, it is the first.
//@ declarations

// Return the pair (value, index) with the larger value; of equal values, the one with the smaller index.
vec2 first(vec2 a, vec2 b) {
    return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
}

void main() {
    vec4 x = vec4(0.0);
    vec4 most = vec4(0.0);
    vec4 number = vec4(0.0); // index of the slice with the largest value of each lane
    //@ slices
    number = 4.0 * number + vec4(0.0, 1.0, 2.0, 3.0);
    vec2 low = first(vec2(most.x, number.x), vec2(most.y, number.y));
    vec2 high = first(vec2(most.z, number.z), vec2(most.w, number.w));
    gl_FragColor = whole(vec4(first(low, high).y * (1.0 / 255.0), 0.0, 0.0, 0.0));
}
