// WAIT(at) equals at. VideoCore IV fetches there only after the texel in the variable t of the including shader.
//
// Its compiler cannot know that the lanes of texels are not negative, so it does not compute all coordinates at once,
// which would need too many registers. convolution.frag explains the order of fetches.
#ifdef LATE_FETCH
#define WAIT(at) max(at, -t.w)
#else
#define WAIT(at) at
#endif
