// LATE(at, v) equals at, and VideoCore IV fetches there only after all components of v. No coordinate may be negative.
//
// Its compiler cannot know that the minimum is never the result, so it does not fetch all texels at once, which would
// need too many registers.
#ifdef LATE_FETCH
#define LATE(at, v) max(at, min(min(min((v).x, (v).y), min((v).z, (v).w)), 0.0))
#else
#define LATE(at, v) at
#endif
