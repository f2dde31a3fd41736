#include <algorithm>

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

std::optional<double> low_bit_time_factor(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                          const Machine& machine) {
  constexpr double kLeast = 0.05;
  constexpr double kMost = 64;
  std::vector<double> factors;
  for (const AttentionVariant& row : rows) {
    if (row.kv_bits >= 16 || may_hit_l2(row.bytes_read, machine)) continue;
    const auto seconds = [&](double factor) {
      DecodeCall call = call_of(row.decode);
      call.kv_bytes = row.bytes_read * factor;
      return form.time(call, machine, false).seconds;
    };
    if (row.seconds < seconds(kLeast) || row.seconds > seconds(kMost)) continue;
    double low = kLeast, high = kMost;
    constexpr int kHalvings = 50;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      (seconds(middle) < row.seconds ? low : high) = middle;
    }
    factors.push_back(high);
  }
  const std::optional<double> found = median_of(std::move(factors));
  if (!found) return std::nullopt;
  return rounded(*found);
}

}  // namespace kvsim::models
