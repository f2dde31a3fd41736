// The keys of measured tables, and what physics says of their times.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "models/kernels/fitted_schema.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

using namespace schema;

constexpr double kAbovePeak = 1.05;  // clocks and rounding of datasheets explain this much
constexpr double kL2AbovePeak = 5;   // reads that hit L2, over the peak of HBM
constexpr double kRepeated = 6;      // layers that published benchmarks go round: what of all fits L2 may be warm

ObjectSchema<TimePoint> point_schema(const char* size) {
  ObjectSchema<TimePoint> s("time point", "One size.");
  s.required("size", &TimePoint::size, number().positive(), size);
  s.required("seconds", &TimePoint::seconds, time().positive(), "time of one call");
  return s;
}

void check_points(const std::vector<TimePoint>& points, const std::string& key, const Reporter& report) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const TimePoint& a = points[i - 1];
    const TimePoint& b = points[i];
    if (b.size <= a.size) report.fail(fmt::format("{}.{}.size", key, i), "the points must ascend in size");
    if (b.seconds < a.seconds) {
      report.fail(fmt::format("{}.{}.seconds", key, i),
                  fmt::format("{} for size {}, but {} for the smaller {}: more work cannot take less time",
                              format_time(b.seconds), b.size, format_time(a.seconds), a.size));
    }
  }
}

ObjectSchema<LinearTable> linear_table_schema() {
  using T = LinearTable;
  ObjectSchema<T> s("linear table", "Measured times of one linear layer.");
  s.required("weights", &T::weights, weight_number_format(), "format of the weights");
  s.required("n", &T::n, number().positive(), "outputs");
  s.required("k", &T::k, number().positive(), "inputs");
  s.list("points", &T::points, point_schema("tokens"), Presence::required, "ascending in tokens", {.at_least = 2});
  add_source_fields(s, &T::source, Presence::optional);
  s.check([](const T& t, const Reporter& report) { check_points(t.points, "points", report); });
  return s;
}

void check_grid(const DecodeTable& t, const Reporter& report) {
  for (std::size_t i = 1; i < t.kv_lengths.size(); ++i) {
    if (t.kv_lengths[i] <= t.kv_lengths[i - 1]) {
      report.fail(fmt::format("kv_lengths.{}", i), "the lengths must ascend");
    }
  }
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    const DecodeRow& row = t.rows[r];
    if (row.seconds.size() != t.kv_lengths.size()) {
      report.fail(fmt::format("rows.{}.seconds", r),
                  fmt::format("{} times for {} lengths in kv_lengths", row.seconds.size(), t.kv_lengths.size()));
      return;
    }
    if (r > 0 && row.requests <= t.rows[r - 1].requests) {
      report.fail(fmt::format("rows.{}.requests", r), "the rows must ascend in requests");
    }
    for (std::size_t i = 0; i < row.seconds.size(); ++i) {
      const bool falls =
          (i > 0 && row.seconds[i] < row.seconds[i - 1]) || (r > 0 && row.seconds[i] < t.rows[r - 1].seconds[i]);
      if (falls) {
        report.fail(fmt::format("rows.{}.seconds.{}", r, i),
                    "less than for fewer requests or a shorter KV: more work cannot take less time");
      }
    }
  }
}

ObjectSchema<DecodeTable> decode_table_schema() {
  using T = DecodeTable;
  ObjectSchema<DecodeRow> row("decode table row", "Times for one number of requests.");
  row.required("requests", &DecodeRow::requests, number().positive(), "decoding requests");
  row.list("seconds", &DecodeRow::seconds, time().positive(), Presence::required, "one time per KV length",
           {.at_least = 2});
  ObjectSchema<T> s("decode_attention table", "Measured decode attention of one layer and one shape of heads.");
  s.required("kv", &T::kv, number_format(), "format of the KV cache");
  s.required("heads", &T::heads, number().at_least(1), "query heads on the GPU");
  s.required("kv_heads", &T::kv_heads, number().at_least(1), "KV heads on the GPU");
  s.optional("head_dim", &T::head_dim, number().at_least(1), "width of a head");
  s.list("kv_lengths", &T::kv_lengths, number().positive(), Presence::required, "ascending, tokens a request",
         {.at_least = 2});
  s.list("rows", &T::rows, row, Presence::required, "ascending in requests", {.at_least = 2});
  s.optional("warm", &T::warm, boolean(), "measured with the KV in L2 where it fits");
  add_source_fields(s, &T::source, Presence::optional);
  s.check(check_grid);
  return s;
}

void check_linear(const LinearTable& t, const std::string& key, const Machine& peak, const Reporter& report) {
  const double weights = t.n * t.k * bytes_per_element(t.weights);
  for (std::size_t i = 0; i < t.points.size(); ++i) {
    const TimePoint& p = t.points[i];
    const double bandwidth = weights / p.seconds;
    const double rate = 2 * p.size * t.n * t.k / p.seconds;
    // Small weights may have stayed in L2 from one repetition to the next, and no L2 is faster than this.
    const double fastest = kRepeated * weights > peak.l2_bytes ? kAbovePeak : kL2AbovePeak;
    if (bandwidth > fastest * peak.memory_bytes_per_s) {
      report.fail(fmt::format("{}.points.{}.seconds", key, i),
                  fmt::format("implies {:.0f} GB/s, the machine's peak is {:.0f} GB/s", bandwidth / kGB,
                              peak.memory_bytes_per_s / kGB));
    }
    if (rate > kAbovePeak * peak.flops_per_s(t.weights)) {
      report.fail(fmt::format("{}.points.{}.seconds", key, i),
                  fmt::format("implies {:.0f} TFLOP/s, the machine's peak is {:.0f} TFLOP/s", rate / 1e12,
                              peak.flops_per_s(t.weights) / 1e12));
    }
  }
}

void check_decode(const DecodeTable& t, const std::string& key, const Machine& peak, const Reporter& report) {
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    for (std::size_t i = 0; i < std::min(t.kv_lengths.size(), t.rows[r].seconds.size()); ++i) {
      const double kv = 2 * t.kv_heads * t.head_dim * bytes_per_element(t.kv) * t.rows[r].requests * t.kv_lengths[i];
      const double bandwidth = kv / t.rows[r].seconds[i];
      if (kv > peak.l2_bytes && bandwidth > kAbovePeak * peak.memory_bytes_per_s) {
        report.fail(fmt::format("{}.rows.{}.seconds.{}", key, r, i),
                    fmt::format("implies {:.0f} GB/s, the machine's peak is {:.0f} GB/s", bandwidth / kGB,
                                peak.memory_bytes_per_s / kGB));
      }
    }
  }
}

// A correction is a factor on a form, and makes no kernel faster than its machine.

/// Sizes at a correction's nodes, the last axis fastest, as its factors are.
std::array<double, Correction::kMostAxes> node_sizes(const Correction& c, std::size_t node) {
  std::array<double, Correction::kMostAxes> sizes{};
  for (std::size_t d = c.dimensions(); d-- > 0;) {
    sizes[d] = c.axes[d][node % c.axes[d].size()];
    node /= c.axes[d].size();
  }
  return sizes;
}

/// Work that a form's time at a node implies: bytes that no cache holds, and operations.
struct Implied {
  double seconds = 0;
  double bytes = 0;
  double flops = 0;
  double flops_per_s = 0;
};

void check_correction(const Correction& c, const std::string& key, const Machine& peak, const Reporter& report,
                      const std::function<Implied(const std::array<double, Correction::kMostAxes>&)>& implied) {
  for (std::size_t node = 0; node < c.factors.size(); ++node) {
    const Implied i = implied(node_sizes(c, node));
    const std::string at = fmt::format("{}.correction.factors.{}", key, node);
    if (i.bytes / i.seconds > kAbovePeak * peak.memory_bytes_per_s) {
      report.fail(at, fmt::format("{:g} there: the form implies {:.0f} GB/s, the machine's peak is {:.0f} GB/s",
                                  c.factors[node], i.bytes / i.seconds / kGB, peak.memory_bytes_per_s / kGB));
    }
    if (i.flops / i.seconds > kAbovePeak * i.flops_per_s) {
      report.fail(at, fmt::format("{:g} there: the form implies {:.0f} TFLOP/s, the machine's peak is {:.0f} TFLOP/s",
                                  c.factors[node], i.flops / i.seconds / 1e12, i.flops_per_s / 1e12));
    }
  }
}

void check_corrections(const FittedForms& forms, const Machine& peak, const Reporter& report) {
  using Sizes = std::array<double, Correction::kMostAxes>;
  const auto check_each = [&](const auto& of_kind, const char* name, const auto& implied) {
    for (std::size_t i = 0; i < of_kind.size(); ++i) {
      check_correction(of_kind[i].correction, fmt::format("fitted.{}.{}", name, i), peak, report,
                       [&](const Sizes& at) { return implied(of_kind[i], at); });
    }
  };
  check_each(forms.linear, "linear", [&](const LinearForm& f, const Sizes& at) {
    const auto [m, n, k, unused] = at;
    return Implied{f.time(m, n, k, peak).seconds, n * k * bytes_per_element(f.weights), 2 * m * n * k,
                   peak.flops_per_s(f.weights)};
  });
  check_each(forms.decode_attention, "decode_attention", [&](const DecodeForm& f, const Sizes& at) {
    const auto [walks, length, head_dim, group] = at;
    DecodeCall call;
    call.requests = walks;
    call.heads = group;
    call.head_dim = head_dim;
    call.mean_kv = length;
    call.kv_bytes = 2 * walks * length * head_dim * bytes_per_element(f.kv);
    return Implied{f.time(call, peak, false).seconds, std::max(0.0, call.kv_bytes - peak.l2_bytes), 0, 1};
  });
  check_each(forms.prefill_attention, "prefill_attention", [&](const TiledForm& f, const Sizes& at) {
    const auto [heads, length, head_dim, group] = at;
    const HeadShape shape{group, 1, head_dim};
    const double prompts = heads / group;
    TiledCall call;
    f.add_chunk(call, length, 0, shape, prompts);
    const double flops = 4 * heads * head_dim * length * (length + 1) / 2;
    return Implied{f.time(call, shape, peak).seconds, 0, flops, peak.flops_per_s(f.kv)};
  });
}

}  // namespace

ObjectSchema<MeasuredTables> measured_tables_schema() {
  using T = MeasuredTables;
  ObjectSchema<T> s("tables", "Measured times, interpolated; beyond their range the fitted form carries them on.");
  s.list("linear", &T::linear, linear_table_schema(), Presence::optional, "one per shape");
  s.list("decode_attention", &T::decode_attention, decode_table_schema(), Presence::optional, "one per shape of heads");
  s.list("sampler", &T::sampler, point_schema("sequences"), Presence::optional, "sampling, ascending in sequences");
  const auto kind = [](auto& t) -> auto& {
    return t.sampler_source.kind;
  };
  const auto reference = [](auto& t) -> auto& {
    return t.sampler_source.reference;
  };
  s.optional("sampler_source", kind, schema::detail::source_kind_spec(), "where the sampler's times come from");
  s.optional("sampler_reference", reference, text().non_empty(), "document, or how it was measured");
  s.check([](const T& t, const Reporter& report) { check_points(t.sampler, "sampler", report); });
  return s;
}

void check_against_physics(const KernelProfile& p, const Reporter& report) {
  const Machine peak = p.machine ? p.machine->peaks() : Machine{};
  const bool tables = !p.tables.linear.empty() || !p.tables.decode_attention.empty();
  if ((p.fitted.any() || tables) && !p.machine) {
    report.fail("machine", "missing; fitted forms and tables are scaled and checked by the datasheet of measured_on");
    return;
  }
  if (!p.machine) return;
  check_corrections(p.fitted, peak, report);
  const auto check_each = [&](const auto& of_kind, const char* name, const auto& has_form, const auto& check) {
    for (std::size_t i = 0; i < of_kind.size(); ++i) {
      const std::string key = fmt::format("tables.{}.{}", name, i);
      if (!has_form(of_kind[i])) {
        report.fail(key, "no fitted form of this format beside it, which would carry it beyond its range");
      }
      check(of_kind[i], key, peak, report);
    }
  };
  const auto linear = [&](const LinearTable& t) { return form_for(p.fitted.linear, &LinearForm::weights, t.weights); };
  const auto decode = [&](const DecodeTable& t) { return form_for(p.fitted.decode_attention, &DecodeForm::kv, t.kv); };
  check_each(p.tables.linear, "linear", linear, check_linear);
  check_each(p.tables.decode_attention, "decode_attention", decode, check_decode);
}

}  // namespace kvsim::models
