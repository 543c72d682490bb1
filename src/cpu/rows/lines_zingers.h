/* SPDX-License-Identifier: MIT */
/* The loop of lines.h that finds zingers (prep/zingers.c); included by lines_body.h. Transmissions below 0 and NaN
 * count as 0, so that values can be compared by their bits, as integers. */

enum { ZINGERS_BLOCK = 256 };

static inline __attribute__((always_inline)) int32_t most_of(int32_t a, int32_t b) { return a > b ? a : b; }
static inline __attribute__((always_inline)) int32_t least_of(int32_t a, int32_t b) { return a < b ? a : b; }
static inline __attribute__((always_inline)) int32_t light(float t) {
    const int32_t bits = bits_of(t);
    return bits & -(bits > 0 && bits <= INFINITE);
}

/* The second largest and the smallest value of the neighbours of each pixel of a block. */
typedef struct around {
    int32_t second[ZINGERS_BLOCK], least[ZINGERS_BLOCK];
} around;

/* For each column: the larger (high) and the smaller (low) of the pixels above and below; and of these two and the
 * pixel itself the largest, the second largest and the smallest. */
typedef struct three {
    int32_t high[ZINGERS_BLOCK + 2], low[ZINGERS_BLOCK + 2], most[ZINGERS_BLOCK + 2], next[ZINGERS_BLOCK + 2],
        least[ZINGERS_BLOCK + 2];
} three;

static void sort_three(const float *above, const float *here, const float *below, size_t count, three *restrict s) {
    for (size_t i = 0; i < count; i++) {
        const int32_t a = light(above[i]), b = light(here[i]), c = light(below[i]);
        const int32_t high = most_of(a, c), low = least_of(a, c);
        s->high[i] = high;
        s->low[i] = low;
        s->most[i] = most_of(high, b);
        s->next[i] = most_of(low, least_of(high, b));
        s->least[i] = least_of(low, b);
    }
}

static void look_at_eight(const float *row, size_t stride, size_t count, around *restrict a) {
    three s;
    sort_three(row - stride - 1, row - 1, row + stride - 1, count + 2, &s);
    for (size_t i = 0; i < count; i++) {
        const int32_t left = s.most[i], right = s.most[i + 2], low = most_of(s.next[i], s.next[i + 2]);
        const int32_t most = most_of(left, right), next = most_of(least_of(left, right), low);
        a->second[i] = most_of(least_of(most, s.high[i + 1]), most_of(next, s.low[i + 1]));
        a->least[i] = least_of(least_of(s.least[i], s.least[i + 2]), s.low[i + 1]);
    }
}

static void look_at_four(const float *row, size_t count, around *restrict of) {
    for (size_t i = 0; i < count; i++) {
        const int32_t a = light(row[i - 2]), b = light(row[i - 1]), c = light(row[i + 1]), d = light(row[i + 2]);
        of->second[i] = most_of(least_of(most_of(a, b), most_of(c, d)), most_of(least_of(a, b), least_of(c, d)));
        of->least[i] = least_of(least_of(a, b), least_of(c, d));
    }
}

static inline __attribute__((always_inline)) int compare(const float *restrict row, const float *restrict gains,
                                                         const float *restrict darks, const float *noise, float sigma,
                                                         size_t count, const around *restrict a, int *restrict found) {
    const float square = sigma * sigma, share = 0.01f, base = noise[0], slope = noise[1];
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float gain = gains ? gains[i] : 1, dark = darks ? darks[i] : 0, u = float_of(a->second[i]);
        const float own = float_of(light(base + slope * dark));
        const int32_t allowed = bits_of(square * (gain * (gain * own + slope * u)));
        const int32_t structure = most_of(bits_of(share * u), bits_of(u - float_of(a->least[i])));
        const float above = row[i] - u;
        const int32_t is = (int32_t)(bits_of(above) > structure) & (int32_t)(bits_of(above) <= INFINITE) &
                           (int32_t)(bits_of(above * above) > allowed);
        found[i] = is;
        sum += is;
    }
    return sum;
}

/* Neighbours are five columns in the view before and in the view after. */
static void look_at_views(const float *before, const float *after, size_t count, around *restrict a) {
    int32_t high[ZINGERS_BLOCK + 4], low[ZINGERS_BLOCK + 4];
    for (size_t i = 0; i < count + 4; i++) {
        const int32_t first = light(before[(ptrdiff_t)i - 2]), second = light(after[(ptrdiff_t)i - 2]);
        high[i] = most_of(first, second);
        low[i] = least_of(first, second);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t most = high[i], next = low[i], least = low[i];
        for (size_t k = 1; k < 5; k++) {
            next = most_of(least_of(most, high[i + k]), most_of(next, low[i + k]));
            most = most_of(most, high[i + k]);
            least = least_of(least, low[i + k]);
        }
        a->second[i] = next;
        a->least[i] = least;
    }
}

static int judge(const float *row, const float *gain, const float *dark, const float noise[2], float sigma,
                 size_t count, const around *a, int *found) {
    if (gain && dark) return compare(row, gain, dark, noise, sigma, count, a, found);
    if (gain) return compare(row, gain, NULL, noise, sigma, count, a, found);
    if (dark) return compare(row, NULL, dark, noise, sigma, count, a, found);
    return compare(row, NULL, NULL, noise, sigma, count, a, found);
}

static int zingers(const float *row, size_t stride, const float *gain, const float *dark, const float noise[2],
                   float sigma, size_t count, int *found) {
    around a;
    if (stride)
        look_at_eight(row, stride, count, &a);
    else
        look_at_four(row, count, &a);
    return judge(row, gain, dark, noise, sigma, count, &a, found);
}

static int zingers_in_time(const float *row, const float *before, const float *after, const float *gain,
                           const float *dark, const float noise[2], float sigma, size_t count, int *found) {
    around a;
    look_at_views(before, after, count, &a);
    return judge(row, gain, dark, noise, sigma, count, &a, found);
}
