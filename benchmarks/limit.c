/* How fast this machine does MinHash of the family `mersenne`: h(x) = (a·x + b) mod p, p = 2³¹ − 1, of each function the
 * least over a document. Written by hand for AVX-512, and for AVX2 where there is no AVX-512. `benchmarks/kernels.py`
 * compiles it (cc -O3 -march=native -shared -fPIC) and measures it beside the kernel of neardup.
 *
 * Products are doubled, v = 2a·x + 2b: the high half of v is (a·x + b) >> 31, half of its low half is (a·x + b) & p.
 * 16 hashes (8 with AVX2) take 2 multiplications, 2 additions, 2 shuffles, a shift, an addition, a subtraction and 2
 * minima. Functions lie side by side: nothing is reduced across a register, and a document of any length has no tail.
 */
#include <immintrin.h>
#include <stdint.h>

#if defined __AVX512F__
enum { LANES = 16 };
typedef __m512i Vector;
#define NAME "AVX-512"
#define LOAD(from) _mm512_loadu_si512(from)
#define STORE(to, v) _mm512_storeu_si512(to, v)
#define ALL(x) _mm512_set1_epi32((int)(x))
#define MULTIPLY _mm512_mul_epu32
#define ADD64 _mm512_add_epi64
#define ADD32 _mm512_add_epi32
#define SUB32 _mm512_sub_epi32
#define MIN32 _mm512_min_epu32
#define HALVED(v) _mm512_srli_epi32(v, 1)
#define PICK(v, w, which) _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(v), _mm512_castsi512_ps(w), which))
#elif defined __AVX2__
enum { LANES = 8 };
typedef __m256i Vector;
#define NAME "AVX2"
#define LOAD(from) _mm256_loadu_si256((const Vector *)(from))
#define STORE(to, v) _mm256_storeu_si256((Vector *)(to), v)
#define ALL(x) _mm256_set1_epi32((int)(x))
#define MULTIPLY _mm256_mul_epu32
#define ADD64 _mm256_add_epi64
#define ADD32 _mm256_add_epi32
#define SUB32 _mm256_sub_epi32
#define MIN32 _mm256_min_epu32
#define HALVED(v) _mm256_srli_epi32(v, 1)
#define PICK(v, w, which) _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(v), _mm256_castsi256_ps(w), which))
#else
#error "neither AVX-512 nor AVX2"
#endif

enum { BLOCK = 512, STEP = 2 * LANES, LOW = 0x88, HIGH = 0xDD };
#define P 0x7FFFFFFFu

const char *name(void) { return NAME; }

/* LANES functions: 2a and 2b of those that PICK takes first and second, and the least hashes so far. */
typedef struct { Vector a1, a2, b1, b2, least; } Functions;

static inline Functions load(const uint64_t *lanes, const uint32_t *least) {
    return (Functions){LOAD(lanes), LOAD(lanes + LANES / 2), LOAD(lanes + LANES), LOAD(lanes + 3 * LANES / 2),
                       LOAD(least)};
}

static inline void lower(Functions *of, Vector x) {
    const Vector v = ADD64(MULTIPLY(of->a1, x), of->b1), w = ADD64(MULTIPLY(of->a2, x), of->b2);
    const Vector h = ADD32(HALVED(PICK(v, w, LOW)), PICK(v, w, HIGH));
    of->least = MIN32(of->least, MIN32(h, SUB32(h, ALL(P))));
}

/* ids[offsets[d]..offsets[d + 1]) is a document; num_perm is a multiple of 32, out[documents][num_perm] begins with p. */
void signatures(const uint64_t *ids, const int64_t *offsets, int64_t documents, const uint64_t *a, const uint64_t *b,
                int64_t num_perm, uint32_t *out) {
    uint64_t lanes[2 * num_perm];
    for (int64_t f = 0; f < num_perm; f++) {
        const int64_t i = f % LANES, lane = 2 * (f - i) + i / 4 * 2 + i % 2 + i / 2 % 2 * (LANES / 2);
        lanes[lane] = 2 * a[f];
        lanes[lane + LANES] = 2 * b[f];
    }
    uint32_t residues[BLOCK];
    for (int64_t document = 0; document < documents; document++)
        for (int64_t at = offsets[document]; at < offsets[document + 1]; at += BLOCK) {
            const int64_t left = offsets[document + 1] - at, size = left < BLOCK ? left : BLOCK;
            for (int64_t i = 0; i < size; i++) {
                const uint64_t x = ids[at + i], folded = (x & P) + (x >> 31 & P) + (x >> 62);
                residues[i] = (uint32_t)((folded & P) + (folded >> 31));
            }
            for (int64_t f = 0; f < num_perm; f += STEP) {
                uint32_t *slots = out + document * num_perm + f;
                Functions one = load(lanes + 2 * f, slots), other = load(lanes + 2 * (f + LANES), slots + LANES);
                for (int64_t i = 0; i < size; i++) {
                    const Vector x = ALL(residues[i]);
                    lower(&one, x);
                    lower(&other, x);
                }
                STORE(slots, one.least);
                STORE(slots + LANES, other.least);
            }
        }
}
