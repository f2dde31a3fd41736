// Kernels that fill, read, write and copy memory.
#pragma once

#include <cstdint>

#include "tools/calibrate/cuda/handles.h"

namespace kvsim::calibrate {

/// Random data of random_data.h, by element index from 0.
void fill_values(std::uint16_t* bf16, std::size_t count, std::uint64_t seed, const Stream& stream);
void fill_words(std::uint32_t* words, std::size_t count, std::uint64_t seed, const Stream& stream);
void fill_e4m3(std::uint8_t* values, std::size_t count, std::uint64_t seed, const Stream& stream);
void fill_scales(std::uint32_t* words, std::size_t count, std::uint64_t seed, int bits, const Stream& stream);

/// Bytes are a multiple of 16. `sums` has a place for each of read_blocks() blocks: the XOR of the words it read.
int read_blocks(int multiprocessors);
void read_memory(const void* from, std::size_t bytes, std::uint32_t* sums, int blocks, const Stream& stream);
void write_memory(void* to, std::size_t bytes, std::uint32_t word, int blocks, const Stream& stream);
void copy_memory(void* to, const void* from, std::size_t bytes, int blocks, const Stream& stream);

/// Rows of `row_bytes` (a multiple of 16) from `rows[i] * row_bytes` of one memory, which may be the host's, to i *
/// row_bytes of the other; eight lanes or more to a row.
void gather_rows(void* to, const void* from, const std::uint32_t* rows, std::size_t count, std::size_t row_bytes,
                 int blocks, const Stream& stream);

/// Does nothing.
void empty_kernel(const Stream& stream);
/// Keeps the stream busy for some 30 us, so that what is put behind it is all there when it begins.
void hold(const Stream& stream);

}  // namespace kvsim::calibrate
