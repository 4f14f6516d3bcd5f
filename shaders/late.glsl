// LATE(at, v) is at, and no coordinate is negative; but no compiler can know, and a device that wants fetches to wait
// (tied.glsl) fetches only when all of v is there. Else it would keep every texel in registers.
#ifdef LATE_FETCH
#define LATE(at, v) max(at, min(min(min((v).x, (v).y), min((v).z, (v).w)), 0.0))
#else
#define LATE(at, v) at
#endif
