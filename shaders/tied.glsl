// TIED(at) equals at, and VideoCore IV fetches there only after all components of the sum so far.
//
// Slices with fewer than four channels use it, because WAIT of convolution.frag waits for the fourth component only. It
// takes more operations than WAIT. If it waited for one component after another operation, many shapes would have too
// few registers.
#ifdef LATE_FETCH
#define TIED(at) max(at, min(min(min(sum.x, sum.y), min(sum.z, sum.w)), 0.0))
#else
#define TIED(at) at
#endif
