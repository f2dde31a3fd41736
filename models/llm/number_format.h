// In what numbers weights and KV caches are held.
#pragma once

namespace kvsim::schema {
class ScalarSpec;
}

namespace kvsim::models {

/// Number format of weights or of a KV cache, as kernels are measured in them. The last two are of weights alone:
/// fp8_block has a scale for each block of 128 x 128, nvfp4 one of 8 bits for each 16 numbers of 4 bits.
enum class NumberFormat { bf16, fp8, fp8_block, nvfp4 };

/// As profiles, scenarios and reports write it.
[[nodiscard]] constexpr const char* word(NumberFormat f) {
  switch (f) {
    case NumberFormat::fp8:
      return "fp8";
    case NumberFormat::fp8_block:
      return "fp8_block";
    case NumberFormat::nvfp4:
      return "nvfp4";
    case NumberFormat::bf16:
      break;
  }
  return "bf16";
}

/// A field with one of these words, for weights (llm_schema.cpp).
[[nodiscard]] schema::ScalarSpec weight_number_format();

/// Scales of 4-bit numbers included; those of 16,384 numbers in a block are too few to count.
[[nodiscard]] constexpr double bytes_per_element(NumberFormat f) {
  return f == NumberFormat::bf16 ? 2.0 : f == NumberFormat::nvfp4 ? 4.5 / 8 : 1.0;
}

}  // namespace kvsim::models
