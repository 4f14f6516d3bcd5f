// Loops that compilers do not unroll on devices that define ROLLED_FETCHES.
//
//     for (int i = 0; i < TURNS(count); i++) {
//         END_AFTER(count, i)
//         ...
//
// On such devices the loop ends by a condition on a coordinate. No coordinate is above 2, but a compiler cannot know
// that.
#ifdef ROLLED_FETCHES
#define TURNS(count) count + 1024
#define END_AFTER(count, turn) if (float(turn) > float(count) - 0.5 + max(coord0.x - 2.0, 0.0)) break;
#else
#define TURNS(count) count
#define END_AFTER(count, turn)
#endif
