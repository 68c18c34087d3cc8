"""The exact join: which documents may be as similar as the threshold, none left out.

T is the threshold in ten-thousandths. Two sets with J ≥ t share at least ⌈T·(|A| + |B|) / (10000 + T)⌉ ids, and differ
in at most H = ⌊(10000 − T)·(|A| + |B|) / (10000 + T)⌋.

*Partitions* (Arasu, Ganti, Kaushik: Efficient exact set-similarity joins, VLDB 2006; Deng et al., VLDB 2015): the ids
are cut by their upper bits into m partitions; H differing ids spoil at most H of them, so of any H + 1 partitions one
is equal in both sets. An empty partition is equal to an empty one. `describe` makes a 32-bit key of each partition,
`index` groups documents by it, `ask` counts how many share each key, `choose` takes the H + 1 that share least, `meet`
finds the pairs.

*Prefix filter* (Xiao et al.: Efficient similarity joins for near-duplicate detection, TODS 2011): put the ids of every
set in one order, the rare ones first; two similar sets share one of their first |A| − ⌈t·|A|⌉ + 1. `tally` counts how
often ids are seen, `prefixes` cuts, `index_prefixes` and `probe` find and verify the pairs.

Both test a pair by 512 parity bits a set first (Sandes, Teodoro, Melo: Bitmap filter, 2020): each id that only one of
the two has flips one bit, so as many bits differ as ids do, at the most.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from neardup.kernels import (
    helper,
    int64s,
    int64s_out,
    kernel,
    uint8rows,
    uint8rows_out,
    uint8s,
    uint32rows,
    uint32rows_out,
    uint32s_out,
    uint64rows,
    uint64rows_out,
    uint64s,
    uint64s_out,
)
from neardup.kernels.bits import popcount
from neardup.kernels.murmur3 import FMIX1, FMIX2

ONE = np.int64(10_000)
WORDS = 8  # of parity bits
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
SIX = np.uint64(6)
SIXTY_THREE = np.uint64(63)
UNIT = np.uint64(1)
THREE = np.uint64(3)
FOUR = np.uint64(4)
SEVEN = np.uint64(7)
PARITY = np.uint64(20)  # from this bit on 9 bits say which parity bit an id flips: the upper ones say its partition
TALLY = np.uint64(8)  # and from this one on which counter is its
MIX = np.uint64(33)
NOT_ASKED = np.uint8(255)
CLASSES = 128


@helper
def ceil_div(a: np.int64, b: np.int64) -> np.int64:
    return (a + b - np.int64(1)) // b


@helper
def may_share(one: NDArray[np.uint64], other: NDArray[np.uint64], size: np.int64, least: np.int64) -> np.bool_:
    """Whether parity bits allow `least` common ids; `size` is that of both sets together."""
    differing = np.int64(0)
    for word in range(WORDS):
        differing += popcount(one[word] ^ other[word])
    return size - differing >= least + least


@kernel(types.void(uint64s, int64s, int64s, types.int64, types.int64, uint64s_out, uint32rows_out, uint64rows_out))
def describe(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    first: int,
    stop: int,
    sums: NDArray[np.uint64],
    keys: NDArray[np.uint32],
    parity: NDArray[np.uint64],
) -> None:
    """The keys of the partitions and the parity bits of the sets from first to stop.

    columns   where each goes: keys[:, column], parity[column]
    sums      uint64[partitions], scratch
    """
    m = len(sums)
    parts = np.uint64(m)
    for at in range(first, stop):
        column = columns[at]
        sums[:] = np.uint64(0)
        for word in range(WORDS):
            parity[column, word] = np.uint64(0)
        for i in range(offsets[at], offsets[at + 1]):
            value = values[i]
            sums[np.int64(((value >> HALF) * parts) >> HALF)] += value
            bit = value >> PARITY
            parity[column, np.int64((bit >> SIX) & SEVEN)] ^= UNIT << (bit & SIXTY_THREE)
        for part in range(m):
            x = sums[part]
            x = (x ^ (x >> MIX)) * FMIX1
            keys[part, column] = np.uint32((x ^ (x >> MIX)) * FMIX2 >> HALF)


@kernel(types.void(uint32rows, types.int64, types.int64, types.uint64, uint32rows_out, uint64rows_out))
def index(
    keys: NDArray[np.uint32],
    first: int,
    stop: int,
    shift: np.uint64,
    heads: NDArray[np.uint32],
    posts: NDArray[np.uint64],
) -> None:
    """Group documents by the key's upper bits, in each partition from first to stop.

    heads   uint32[m, buckets + 1], zeros before: where each bucket begins in posts
    posts   uint64[m, documents]: key · 2³² + document, bucket by bucket, documents ascending in each
    """
    documents = keys.shape[1]
    buckets = heads.shape[1] - 1
    for part in range(first, stop):
        for document in range(documents):
            heads[part, np.int64(np.uint64(keys[part, document]) >> shift)] += np.uint32(1)
        for bucket in range(buckets):
            heads[part, bucket + 1] += heads[part, bucket]
        for document in range(documents - 1, -1, -1):
            key = np.uint64(keys[part, document])
            bucket = int(key >> shift)
            heads[part, bucket] -= np.uint32(1)
            posts[part, heads[part, bucket]] = (key << HALF) | np.uint64(document)


@helper
def class_of(count: np.uint64) -> np.uint8:
    """Counts up to 127 as they are; of larger ones the power of two and its quarter."""
    if count < np.uint64(128):
        return np.uint8(count)
    power = np.uint64(7)
    while count >> power > np.uint64(1):
        power += UNIT
    quarter = (count >> (power - np.uint64(2))) & np.uint64(3)
    return np.uint8(np.uint64(128) + ((power - SEVEN) << np.uint64(2)) + quarter)


@helper
def least_of(class_: np.uint8) -> np.int64:
    """The least count of a class."""
    if class_ < np.uint8(128):
        return np.int64(class_)
    above = np.uint64(class_) - np.uint64(128)
    return np.int64((np.uint64(4) | (above & np.uint64(3))) << ((above >> np.uint64(2)) + np.uint64(5)))


@kernel(types.void(uint32rows, uint32rows, types.uint64, types.int64, types.int64, uint8rows_out))
def ask(
    keys: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    shift: np.uint64,
    first: int,
    stop: int,
    counts: NDArray[np.uint8],
) -> None:
    """How many indexed documents share the bucket of each key, as `class_of` it: counts[partition, document]."""
    for part in range(first, stop):
        for document in range(keys.shape[1]):
            bucket = np.int64(np.uint64(keys[part, document]) >> shift)
            counts[part, document] = class_of(np.uint64(heads[part, bucket + 1] - heads[part, bucket]))


@kernel(types.int64(int64s, types.int64, types.int64, types.int64, types.int64, int64s_out, uint8rows_out))
def choose(
    sizes: NDArray[np.int64],
    largest: np.int64,
    threshold: np.int64,
    first: int,
    stop: int,
    seen: NDArray[np.int64],
    counts: NDArray[np.uint8],
) -> np.int64:
    """Leave each document the H + 1 partitions with the least counts, and make NOT_ASKED of the others.

    largest   the size of the largest indexed set
    seen      int64[256], scratch
    Returns how many postings will be read.
    """
    parts = counts.shape[0]
    probes = np.int64(0)
    for document in range(first, stop):
        size = sizes[document]
        wanted = (ONE - threshold) * (size + min(size, largest)) // (ONE + threshold) + np.int64(1)
        seen[:] = np.int64(0)
        for part in range(parts):
            seen[counts[part, document]] += np.int64(1)
        limit = 0
        while wanted > seen[limit]:
            wanted -= seen[limit]
            limit += 1
        for part in range(parts):
            class_ = counts[part, document]
            asked = class_ < limit or (class_ == limit and wanted > np.int64(0))
            wanted -= np.int64(asked and class_ == limit)
            if asked:
                probes += least_of(class_)
            else:
                counts[part, document] = NOT_ASKED
    return probes


@kernel(
    types.int64(
        uint32rows, uint32rows, uint64rows, int64s, uint64rows, uint32rows, uint8rows, int64s, uint64rows,
        types.int64, types.int64, types.uint64, types.int64, int64s_out, uint64s_out,
    )
)  # fmt: skip
def meet(
    keys: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    posts: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    parity: NDArray[np.uint64],
    keys_asking: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    sizes_asking: NDArray[np.int64],
    parity_asking: NDArray[np.uint64],
    position: np.int64,
    threshold: np.int64,
    shift: np.uint64,
    budget: np.int64,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> np.int64:
    """Pairs of an indexed document and a later one that asks, each once, as indexed · 2³² + later; how many.

    position  of the first that asks, counted from the first indexed one
    cursor    [partition, document that asks, posting from the bucket's first]; begins with zeros; ends at the last
    Ends where `out` is full as well.
    """
    asking = len(sizes_asking)
    part, document, at = cursor[0], cursor[1], cursor[2]
    found = np.int64(0)
    while part < len(keys) and budget > 0:
        while document < asking and budget > 0:
            class_ = counts[part, document]
            budget -= np.int64(1)
            if class_ == NOT_ASKED or class_ == np.uint8(0):
                document += 1
                continue
            key = np.uint64(keys_asking[part, document])
            bucket = np.int64(key >> shift)
            first, stop = np.int64(heads[part, bucket]) + at, np.int64(heads[part, bucket + 1])
            size = sizes_asking[document]
            smallest = ceil_div(threshold * size, ONE)
            me = position + document
            i = first
            while i < stop and budget > 0 and found < len(out):
                entry = posts[part, i]
                other = np.int64(entry & LOW)
                if other >= me:
                    i = stop
                    break
                i += 1
                budget -= np.int64(2)
                if entry >> HALF != key or sizes[other] < smallest:
                    continue
                both = size + sizes[other]
                least = ceil_div(threshold * both, ONE + threshold)
                if not may_share(parity[other], parity_asking[document], both, least):
                    continue
                earlier = part - 1
                while earlier >= 0 and (
                    counts[earlier, document] == NOT_ASKED or keys[earlier, other] != keys_asking[earlier, document]
                ):
                    earlier -= 1
                budget -= part - earlier
                if earlier < 0:
                    out[found] = (np.uint64(other) << HALF) | np.uint64(me)
                    found += 1
            if i < stop:
                cursor[0], cursor[1], cursor[2] = part, document, at + i - first
                return found
            at = np.int64(0)
            document += 1
        if document == asking:
            document = np.int64(0)
            part += 1
    cursor[0], cursor[1], cursor[2] = part, document, at
    return found


@kernel(types.void(uint64s, types.int64, types.int64, uint32s_out))
def tally(values: NDArray[np.uint64], first: int, stop: int, counters: NDArray[np.uint32]) -> None:
    """Count ids, in as many counters as there are: their number is a power of two."""
    mask = np.uint64(len(counters) - 1)
    for i in range(first, stop):
        counters[np.int64((values[i] >> TALLY) & mask)] += np.uint32(1)


@kernel(
    types.int64(
        uint64s, int64s, uint8s, types.int64, types.int64, types.int64, int64s_out, types.int64, uint64s_out,
        int64s_out, uint64s_out,
    )
)  # fmt: skip
def prefixes(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    classes: NDArray[np.uint8],
    threshold: np.int64,
    first: int,
    stop: int,
    seen: NDArray[np.int64],
    written: np.int64,
    out: NDArray[np.uint64],
    offsets_out: NDArray[np.int64],
    last: NDArray[np.uint64],
) -> np.int64:
    """The ids of each prefix that any other document can have, in no order; and the last of the prefix.

    The order of ids is by class, then by id. Those of class 0 were seen once: they fill a prefix, and match nothing.
    classes   uint8[counters]: the class of each counter of `tally`
    seen      int64[CLASSES], scratch
    last      class · 2⁵⁷ + id / 2⁷ of the last id
    Returns how many ids are written by now.
    """
    mask = np.uint64(len(classes) - 1)
    for document in range(first, stop):
        start, end = offsets[document], offsets[document + 1]
        left = end - start - ceil_div(threshold * (end - start), ONE) + np.int64(1)
        seen[:] = np.int64(0)
        for i in range(start, end):
            seen[classes[np.int64((values[i] >> TALLY) & mask)]] += np.int64(1)
        limit = 0
        while left > seen[limit]:
            left -= seen[limit]
            limit += 1
        last[document] = np.uint64(limit) << np.uint64(57)
        for i in range(start, end):
            class_ = classes[np.int64((values[i] >> TALLY) & mask)]
            if class_ < limit or (class_ == limit and left > 0):
                if class_ == limit:
                    left -= np.int64(1)
                    last[document] = (np.uint64(limit) << np.uint64(57)) | (values[i] >> SEVEN)
                if class_ > 0:
                    out[written] = values[i]
                    written += 1
        offsets_out[document + 1] = written
    return written


@kernel(types.void(uint64s, int64s, types.uint64, uint32s_out, uint64s_out))
def index_prefixes(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    shift: np.uint64,
    heads: NDArray[np.uint32],
    posts: NDArray[np.uint64],
) -> None:
    """Group the ids of prefixes by their upper bits.

    heads   uint32[buckets + 1], zeros before: where each bucket begins in posts
    posts   uint64[ids]: id's lower half · 2³² + document, bucket by bucket, documents ascending in each
    """
    for i in range(len(values)):
        heads[np.int64(values[i] >> shift)] += np.uint32(1)
    for bucket in range(len(heads) - 1):
        heads[bucket + 1] += heads[bucket]
    for document in range(len(offsets) - 2, -1, -1):
        for i in range(offsets[document], offsets[document + 1]):
            bucket = int(values[i] >> shift)
            heads[bucket] -= np.uint32(1)
            posts[heads[bucket]] = (values[i] << HALF) | np.uint64(document)


@helper
def share_enough(
    values: NDArray[np.uint64], i: np.int64, i_stop: np.int64,
    others: NDArray[np.uint64], j: np.int64, j_stop: np.int64, least: np.int64,
) -> np.bool_:  # fmt: skip
    """Whether two sorted sets have `least` ids in common; stops as soon as they cannot any more."""
    common = np.uint64(0)
    at, stop = np.uint64(i), np.uint64(i_stop)
    other, other_stop = np.uint64(j), np.uint64(j_stop)
    wanted = np.uint64(least)
    while at + FOUR <= stop and other + FOUR <= other_stop:  # as jaccard.merge does it
        for one in range(4):
            for another in range(4):
                common += np.uint64(values[at + np.uint64(one)] == others[other + np.uint64(another)])
        x = values[at + THREE]
        y = others[other + THREE]
        at += FOUR * np.uint64(x <= y)
        other += FOUR * np.uint64(y <= x)
        if common + min(stop - at, other_stop - other) < wanted:
            return np.bool_(False)
    while at < stop and other < other_stop:
        x = values[at]
        y = others[other]
        common += np.uint64(x == y)
        at += np.uint64(x <= y)
        other += np.uint64(y <= x)
    return common >= wanted


@kernel(
    types.int64(
        uint32s_out, uint64s, int64s, uint64s, int64s, uint64rows, uint64rows,
        uint64s, int64s, uint64s, uint64s, int64s, uint64rows,
        types.int64, types.int64, types.uint64, types.int64, uint32s_out, uint32s_out, int64s_out, uint64s_out,
    )
)  # fmt: skip
def probe(
    heads: NDArray[np.uint32],
    posts: NDArray[np.uint64],
    ends: NDArray[np.int64],
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    about: NDArray[np.uint64],
    parity: NDArray[np.uint64],
    prefix: NDArray[np.uint64],
    prefix_offsets: NDArray[np.int64],
    last_asking: NDArray[np.uint64],
    values_asking: NDArray[np.uint64],
    offsets_asking: NDArray[np.int64],
    parity_asking: NDArray[np.uint64],
    position: np.int64,
    threshold: np.int64,
    shift: np.uint64,
    budget: np.int64,
    shared: NDArray[np.uint32],
    met: NDArray[np.uint32],
    cursor: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> np.int64:
    """True pairs of an indexed document and a later one that asks, each once, as indexed · 2³² + later; how many.

    heads     moved on past what is too small for the one that asks, and so for all later ones; `ends` stay
    about     [last id of the prefix, as `prefixes` has it; size · 2³² + ⌈t · size⌉] of each indexed set
    shared    uint32[indexed], zeros before and after: ids of both prefixes
    met       uint32[indexed + 1], scratch
    cursor    [document that asks, id of its prefix, met so far, checked of them]; begins with zeros
    """
    found = np.int64(0)
    document, at, count, checked = cursor[0], cursor[1], cursor[2], cursor[3]
    while document < len(offsets_asking) - 1 and budget > 0:
        size = offsets_asking[document + 1] - offsets_asking[document]
        smallest = ceil_div(threshold * size, ONE)
        me = position + document
        its_last = last_asking[document]
        first, stop = prefix_offsets[document], prefix_offsets[document + 1]
        while first + at < stop and budget > 0:
            value = prefix[first + at]
            at += 1
            bucket = np.int64(value >> shift)
            low = value & LOW
            i, end = np.int64(heads[bucket]), ends[bucket]
            while i < end:
                other = np.int64(posts[i] & LOW)
                if np.int64(about[other, 1] >> HALF) >= smallest:
                    break
                i += 1
            heads[bucket] = np.uint32(i)
            budget -= end - i + np.int64(4)
            while i < end:
                entry = posts[i]
                other = np.int64(entry & LOW)
                if other >= me:
                    break
                i += 1
                if entry >> HALF == low:  # nearly always; whether it is the first one, nobody can foretell
                    before = shared[other]
                    met[count] = np.uint32(other)
                    count += np.int64(before == np.uint32(0))
                    shared[other] = before + np.uint32(1)
        if first + at < stop:
            break
        while checked < count and budget > 0 and found < len(out):
            other = np.int64(met[checked])
            checked += 1
            common = np.int64(shared[other])
            shared[other] = np.uint32(0)
            both = size + np.int64(about[other, 1] >> HALF)
            # Beyond the prefix that ends first, common ids are not counted: at most all that set has beyond it.
            its_beyond = np.int64(about[other, 1] & LOW)
            beyond = smallest if its_last < about[other, 0] else its_beyond
            beyond = max(beyond, smallest) if its_last == about[other, 0] else beyond
            budget -= np.int64(2)
            if (common + beyond - np.int64(1)) * (ONE + threshold) < threshold * both:
                continue
            least = ceil_div(threshold * both, ONE + threshold)
            budget -= np.int64(8)
            if not may_share(parity[other], parity_asking[document], both, least):
                continue
            if share_enough(
                values, offsets[other], offsets[other + 1],
                values_asking, offsets_asking[document], offsets_asking[document + 1], least,
            ):  # fmt: skip
                out[found] = (np.uint64(other) << HALF) | np.uint64(me)
                found += 1
            budget -= both >> 1
        if checked < count:
            break
        document += 1
        at, count, checked = np.int64(0), np.int64(0), np.int64(0)
    cursor[0], cursor[1], cursor[2], cursor[3] = document, at, count, checked
    return found
