#include <algorithm>
#include <cmath>

#include "models/calibration/device_fits.h"
#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"

namespace kvsim::models {

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

namespace {

double predicted(const DecodeForm& form, const DecodeSample& row, const Machine& machine) {
  return form.time(call_of(row), machine, false).seconds;
}

bool plain(const AttentionVariant& v) {
  return v.query_tokens == 1 && v.kv_bits == 16 && v.longest_kv == v.decode.kv_length;
}

bool same_batch(const DecodeSample& a, const DecodeSample& b) {
  return a.shape.heads == b.shape.heads && a.shape.kv_heads == b.shape.kv_heads &&
         a.shape.head_dim == b.shape.head_dim && a.requests == b.requests && a.kv_length == b.kv_length;
}

}  // namespace

std::vector<SkewSample> skews_of(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                 const Machine& machine) {
  std::vector<SkewSample> skews;
  for (const AttentionVariant& row : rows) {
    if (row.longest_kv <= row.decode.kv_length) continue;
    const double mean_s = predicted(form, row.decode, machine);
    DecodeSample longest = row.decode;
    longest.kv_length = row.longest_kv;
    const auto equal = std::find_if(rows.begin(), rows.end(), [&row](const AttentionVariant& other) {
      return plain(other) && same_batch(other.decode, row.decode);
    });
    const double scale = equal == rows.end() ? 1 : equal->seconds / mean_s;
    skews.push_back({row.from, scale * mean_s, scale * predicted(form, longest, machine), row.seconds});
  }
  return skews;
}

std::optional<double> further_query_share(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                          const Machine& machine) {
  constexpr double kFew = 8;  // of more, arithmetic decides
  std::vector<double> shares;
  for (const AttentionVariant& row : rows) {
    if (row.query_tokens <= 1 || row.query_tokens > kFew || may_hit_l2(row.bytes_read, machine)) continue;
    DecodeSample nothing = row.decode;
    nothing.kv_length = 1;
    const double one_s = predicted(form, row.decode, machine);
    const double reading_s = one_s - predicted(form, nothing, machine);
    if (reading_s > 0) shares.push_back((row.seconds - one_s) / reading_s / (row.query_tokens - 1));
  }
  const std::optional<double> found = median_of(std::move(shares));
  if (!found) return std::nullopt;
  return std::clamp(rounded(*found), 0.0, 1.0);
}

namespace {

/// A row of few bits: how long its reading takes at the rate of whole KV, and how many times that it takes.
struct LowBitRow {
  double element_bytes = 0;
  double read_s = 0;  ///< of one element
  double factor = 1;
};

/// How many times `row.bytes_read` of whole KV take as long by the form; none where no number of times does.
std::optional<double> times_its_bytes(const AttentionVariant& row, const DecodeForm& form, const Machine& machine) {
  constexpr double kLeast = 0.05;
  constexpr double kMost = 64;
  const auto seconds = [&](double factor) {
    DecodeCall call = call_of(row.decode);
    call.kv_bytes = row.bytes_read * factor;
    return form.time(call, machine, false).seconds;
  };
  if (row.seconds < seconds(kLeast) || row.seconds > seconds(kMost)) return std::nullopt;
  double low = kLeast, high = kMost;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (seconds(middle) < row.seconds ? low : high) = middle;
  }
  return high;
}

/// Seconds of dequantising an element that make `row` of it, by `power`.
double dequantising_s(const LowBitRow& row, double power) {
  return row.factor <= 1 ? 0 : row.read_s * std::pow(std::pow(row.factor, power) - 1, 1 / power);
}

}  // namespace

std::optional<LowBitAttention> low_bit_attention(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                                 const Machine& machine, double attention_bytes_per_s) {
  std::vector<LowBitRow> measured;
  for (const AttentionVariant& row : rows) {
    if (row.kv_bits >= 16 || may_hit_l2(row.bytes_read, machine)) continue;
    const std::optional<double> factor = times_its_bytes(row, form, machine);
    if (!factor) continue;
    const HeadShape& shape = row.decode.shape;
    const double elements = 2 * row.decode.requests * row.decode.kv_length * shape.kv_heads * shape.head_dim;
    const double element_bytes = row.bytes_read / elements;
    measured.push_back({element_bytes, element_bytes / attention_bytes_per_s, *factor});
  }
  std::optional<LowBitAttention> best;
  double least_error = 0;
  for (const double power : {1.0, 2.0, 4.0, 16.0}) {
    std::vector<double> seconds;
    for (const LowBitRow& row : measured) seconds.push_back(dequantising_s(row, power));
    const double element_s = median_of(std::move(seconds)).value_or(0);
    if (element_s <= 0) continue;
    LowBitAttention found;
    found.elements_per_s.value = rounded(1 / (element_s * machine.multiprocessors));
    found.blend_power = power;
    double error = 0;
    for (const LowBitRow& row : measured) {
      const double factor = found.time_factor(row.element_bytes, attention_bytes_per_s, machine.multiprocessors);
      error += std::abs(std::log(factor / row.factor));
    }
    if (!best || error < least_error) {
      best = found;
      least_error = error;
    }
  }
  return best;
}

void fit_variants(const Samples& samples, const Machine& machine,
                  const std::function<std::string(const std::string& operation)>& reference, DecodeForm& form,
                  KernelProfile& profile) {
  std::vector<SkewSample> skews = skews_of(samples.variants, form, machine);
  skews.insert(skews.end(), samples.skew.begin(), samples.skew.end());
  form.uneven_share = rounded(uneven_share(skews));
  if (form.kv != NumberFormat::bf16) return;
  const auto measured = [&reference](const char* what) {
    return schema::Source{schema::SourceKind::measurement, reference(what)};
  };
  if (const auto share = further_query_share(samples.variants, form, machine)) {
    profile.further_query_share = {*share, measured("attention of several query tokens, by the decode form")};
  }
  const double attention_bytes_per_s = profile.attention_bandwidth_efficiency.value * machine.memory_bytes_per_s;
  if (auto found = low_bit_attention(samples.variants, form, machine, attention_bytes_per_s)) {
    found->elements_per_s.source = measured("attention over KV of few bits, by the decode form");
    profile.low_bit = *found;
  }
}

}  // namespace kvsim::models
