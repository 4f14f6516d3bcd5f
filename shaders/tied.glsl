// TIED(at) is at, and no coordinate is negative; but no compiler can know, and a device that wants fetches to depend on
// the sum so far (convolution.frag) fetches only when the sum is there. It needs no bound of the sum, as WAIT does, but
// more operations: tied to one component alone, 1x1 over 48 slices has too few registers.
#ifdef LATE_FETCH
#define TIED(at) max(at, min(min(min(sum.x, sum.y), min(sum.z, sum.w)), 0.0))
#else
#define TIED(at) at
#endif
