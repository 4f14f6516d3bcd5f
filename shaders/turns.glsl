// The turns of a loop. With ROLLED_FETCHES a compiler does not know how many there are, and does not unroll them.
#ifdef ROLLED_FETCHES
#define TURNS(count) count + 1024
#define END_AFTER(count, turn) if (float(turn) > float(count) - 0.5 + max(coord0.x - 2.0, 0.0)) break;
#else
#define TURNS(count) count
#define END_AFTER(count, turn)
#endif
