// WAIT(at) is at, and no lane of a texel is negative; but no compiler can know, and a device that wants fetches to wait
// (convolution.frag) has a coordinate only when the texel t before it is there. Else it would keep all coordinates.
#ifdef LATE_FETCH
#define WAIT(at) max(at, -t.w)
#else
#define WAIT(at) at
#endif
