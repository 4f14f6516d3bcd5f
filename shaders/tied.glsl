// TIED(at) is at, and no coordinate is negative; but no compiler can know, and a device that wants fetches to depend on
// the sum so far (convolution.frag) fetches only when the sum is there. It serves slices without a fourth channel, for
// which WAIT waits, and takes more operations. Tied to one component by way of another operation, many shapes have too
// few registers.
#ifdef LATE_FETCH
#define TIED(at) max(at, min(min(min(sum.x, sum.y), min(sum.z, sum.w)), 0.0))
#else
#define TIED(at) at
#endif
