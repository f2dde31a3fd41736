#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "models/calibration/device_fits.h"
#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"
#include "models/schema/units.h"

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
  constexpr double kFew = 8;  // of more, arithmetic takes part: VerifyForm
  std::vector<double> shares;
  for (const AttentionVariant& row : rows) {
    if (row.decode.kv != form.kv || row.query_tokens <= 1 || row.query_tokens > kFew ||
        may_hit_l2(row.bytes_read, machine))
      continue;
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

constexpr FittedMember<VerifyForm> kVerifyMembers[] = {
    {[](auto& f) -> double& { return f.reading; }, 1, "reading beyond decode's", 0.1, 0, 63},
    {[](auto& f) -> double& { return f.further_blocks; }, 1, "further_blocks", 0.1, 0, 1},
    {[](auto& f) -> double& { return f.efficiency; }, 1, "efficiency", 0.4, 0.005, 1.05},
    {[](auto& f) -> double& { return f.per_row_s; }, kNanosecond, "per_row (ns)", 0.2, 0, 100},
    {[](auto& f) -> double& { return f.blend_power; }, 1, "blend_power", 4, 1.2, 12}};

/// A row's call and what the decode form takes for one query token a request of it.
struct VerifyRow {
  DecodeCall call;
  double one_s = 0;
  double least_s = 0;
};

std::pair<double, double> label_of(const HeadShape& shape) {
  return {shape.heads * kHeadDimLabel + shape.head_dim, shape.kv_heads};
}

}  // namespace

std::vector<AttentionVariant> verify_rows(std::vector<AttentionVariant> rows, NumberFormat kv) {
  std::erase_if(rows, [kv](const AttentionVariant& row) { return row.query_tokens <= 1 || row.decode.kv != kv; });
  return rows;
}

VerifyForm verify_form(const VerifyKind& kind, std::span<const double> values) {
  VerifyForm form;
  form.kv = kind.kv;
  form.block_rows = kind.block_rows;
  set_members(form, kVerifyMembers, values);
  form.reading = rounded(1 + form.reading);
  return form;
}

FitProblem verify_problem(const std::vector<AttentionVariant>& rows, const VerifyKind& kind, const DecodeForm& decode,
                          const Machine& machine) {
  constexpr double kFew = 8;
  FitProblem problem;
  for (const auto& member : kVerifyMembers) problem.parameters.push_back(member.parameter());
  problem.spread_starts = 8;
  std::vector<VerifyRow> calls;
  for (const AttentionVariant& row : rows) {
    DecodeSample least = row.decode;
    least.kv_length = 1;
    VerifyRow one{call_of(row.decode), predicted(decode, row.decode, machine), predicted(decode, least, machine)};
    one.call.queries = row.query_tokens;
    one.call.mean_kv = row.decode.kv_length - (row.query_tokens - 1) / 2;  // causal among themselves
    calls.push_back(one);
    problem.measured.push_back(row.seconds);
    problem.labels.push_back(
        {label_of(row.decode.shape), row.query_tokens <= kFew ? "2 to 8 query tokens" : "more than 8 query tokens"});
  }
  problem.predict = by_row([kind](std::span<const double> values) { return verify_form(kind, values); },
                           [calls = std::move(calls), machine](const VerifyForm& form, std::size_t i) {
                             const VerifyRow& row = calls[i];
                             return form.time(row.call, row.one_s, row.least_s, machine).seconds;
                           });
  return problem;
}

namespace {

/// Elements of keys and values that a row reads.
double elements_of(const AttentionVariant& row) {
  const HeadShape& shape = row.decode.shape;
  return 2 * row.decode.requests * row.decode.kv_length * shape.kv_heads * shape.head_dim;
}

}  // namespace

std::vector<AttentionVariant> low_bit_rows(std::vector<AttentionVariant> rows, bool keys_by_channel) {
  std::erase_if(rows, [keys_by_channel](const AttentionVariant& row) {
    return !(row.kv_bits < 16) || row.keys_by_channel != keys_by_channel;
  });
  return rows;
}

LowBitAttention low_bit_attention(std::span<const double> values) {
  LowBitAttention found;
  const double element_ns = values[0];
  if (element_ns <= 0) return found;
  found.elements_per_s.value = rounded(1 / (element_ns * kNanosecond));
  found.blend_power = rounded(std::exp2(values[1]));
  return found;
}

double most_time_factor(const std::vector<AttentionVariant>& rows, const LowBitAttention& found,
                        double attention_bytes_per_s, const Machine& machine) {
  double most = 1;
  for (const AttentionVariant& row : rows) {
    if (found.elements_per_s.value <= 0) break;
    most = std::max(
        most, found.time_factor(row.bytes_read / elements_of(row), attention_bytes_per_s, machine.multiprocessors));
  }
  return most;
}

FitProblem low_bit_problem(const std::vector<AttentionVariant>& rows, const DecodeForm& form, const Machine& machine,
                           double attention_bytes_per_s) {
  FitProblem problem;
  // A multiprocessor dequantises an element in a hundredth of a nanosecond or so; at 0 reading hides it.
  problem.parameters = {{"dequantising an element (ns)", 0.02, 0, 10}, {"log2 of blend_power", 1, 0, 5}};
  problem.starts = {{0.005, 4}, {0.02, 4}, {0.1, 4}, {0.005, 1}, {0.1, 1}, {0.02, 0}};
  problem.spread_starts = 8;
  for (const AttentionVariant& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({label_of(row.decode.shape), fmt::format("{:.0f} bits", row.kv_bits)});
  }
  problem.predict = by_row(
      low_bit_attention, [rows, form, machine, attention_bytes_per_s](const LowBitAttention& low, std::size_t i) {
        const AttentionVariant& row = rows[i];
        DecodeCall call = call_of(row.decode);
        call.kv_bytes = row.bytes_read;
        if (low.elements_per_s.value > 0) {
          call.kv_bytes *=
              low.time_factor(row.bytes_read / elements_of(row), attention_bytes_per_s, machine.multiprocessors);
        }
        return form.time(call, machine, false).seconds;
      });
  return problem;
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
}

}  // namespace kvsim::models
