// The turns of a loop. A compiler that knows how many there are writes them one after the other. Where a device defines
// ROLLED_FETCHES it does not know, since for all it knows a coordinate may be above 2, and compiles one.
#ifdef ROLLED_FETCHES
#define TURNS(count) count + 1024
#define END_AFTER(count, turn) if (float(turn) > float(count) - 0.5 + max(coord0.x - 2.0, 0.0)) break;
#else
#define TURNS(count) count
#define END_AFTER(count, turn)
#endif
