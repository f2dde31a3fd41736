#include "models/kernels/profile_schema.h"

#include <set>

#include <fmt/format.h>

#include "models/kernels/fitted_schema.h"

namespace kvsim::models {
namespace {

using namespace schema;

ScalarSpec fixed_time() {
  return time().non_negative().because("no operator takes less than no time");
}

ObjectSchema<EfficiencyCurve> curve_schema(const char* name, const char* size) {
  ObjectSchema<EfficiencyPoint> point(std::string(name) + " efficiency point", "One point of the curve.");
  point.required("size", &EfficiencyPoint::size, number().positive(), size);
  point.required("efficiency", &EfficiencyPoint::efficiency, kernel_efficiency(), "fraction of the GPU's peak rate");

  ObjectSchema<EfficiencyCurve> s(std::string(name) + " compute efficiency",
                                  "Fraction of the peak rate by size: linear in log(size), constant outside.");
  s.list("points", &EfficiencyCurve::points, point, Presence::required, "ascending in size", {.at_least = 1});
  add_source_fields(s, &EfficiencyCurve::source, Presence::optional);
  s.check([](const EfficiencyCurve& curve, const Reporter& report) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      if (curve.points[i].size <= curve.points[i - 1].size) {
        report.fail(fmt::format("points.{}.size", i), "the points must ascend in size");
      }
    }
  });
  return s;
}

ObjectSchema<AllReduceTable> all_reduce_schema() {
  ObjectSchema<AllReducePoint> point("all_reduce point", "One message size.");
  point.required("bytes", &AllReducePoint::bytes, bytes().positive(), "size of the message");
  point.required("seconds", &AllReducePoint::seconds, time().positive(), "time of one all-reduce");

  ObjectSchema<AllReduceTable> s("all_reduce", "Times of an all-reduce in one group of GPUs.");
  s.required("gpus", &AllReduceTable::gpus, integer().at_least(2), "GPUs in the group");
  s.list("points", &AllReduceTable::points, point, Presence::required, "ascending in bytes", {.at_least = 1});
  add_source_fields(s, &AllReduceTable::source, Presence::optional);
  s.check([](const AllReduceTable& table, const Reporter& report) {
    for (std::size_t i = 1; i < table.points.size(); ++i) {
      const AllReducePoint& a = table.points[i - 1];
      const AllReducePoint& b = table.points[i];
      if (b.bytes <= a.bytes) report.fail(fmt::format("points.{}.bytes", i), "the points must ascend in bytes");
      if (b.seconds < a.seconds) {
        report.fail(fmt::format("points.{}.seconds", i),
                    fmt::format("{} for {}, but {} for the smaller {}: a larger message cannot take less time",
                                format_time(b.seconds), format_bytes(static_cast<std::int64_t>(b.bytes)),
                                format_time(a.seconds), format_bytes(static_cast<std::int64_t>(a.bytes))));
      }
    }
  });
  return s;
}

ObjectSchema<KernelProfile> linear_schema() {
  ObjectSchema<KernelProfile> s("linear", "Linear layers, which stream the weights.");
  s.required("t0", &KernelProfile::linear_t0_s, fixed_time(), "fixed time per linear-layer call");
  s.required("bandwidth_efficiency", &KernelProfile::linear_bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth with few tokens");
  s.object("compute_efficiency", &KernelProfile::linear_compute_efficiency,
           curve_schema("linear", "tokens in the step"), Presence::required,
           "fraction of the peak rate by tokens in the step");
  return s;
}

ObjectSchema<KernelProfile> attention_schema() {
  ObjectSchema<KernelProfile> s("attention", "Attention, which reads the KV cache.");
  s.required("t0", &KernelProfile::attention_t0_s, fixed_time(), "fixed time per layer and attention call");
  s.required("bandwidth_efficiency", &KernelProfile::attention_bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth when reading KV in decode and verify");
  s.object("compute_efficiency", &KernelProfile::attention_compute_efficiency,
           curve_schema("attention", "length of the KV attended to, in tokens"), Presence::required,
           "fraction of the peak rate by length of the KV attended to");
  s.optional("low_bit_time_factor", &KernelProfile::low_bit_time_factor, number().positive(),
             "time over KV of few bits / time over as many bytes of whole KV; left out: as the compressor has it");
  s.optional("further_query_share", &KernelProfile::further_query_share, number().at_least(0).at_most(1),
             "of the first query token's reading of the KV, what each further one of a request reads again in a decode "
             "step; 0: the KV is read once for all");
  return s;
}

ObjectSchema<FrameworkMemory> framework_schema() {
  using F = FrameworkMemory;
  ObjectSchema<F> s("framework", "GPU memory that a framework without paged KV takes beside weights and KV.");
  s.optional("workspace", &F::workspace_bytes, bytes().non_negative(),
             "per GPU: activations and logits of prompts, copies, fragmentation");
  s.optional("full_kv_factor", &F::full_kv_factor, number().at_least(1).because("a cache holds at least its bytes"),
             "memory of a 16-bit KV cache / its bytes, with the copies made to append to it");
  return s;
}

ObjectSchema<KernelProfile> make_schema() {
  using P = KernelProfile;
  ObjectSchema<P> s("profile", "What real kernels reach of a GPU's peaks: t = t0 + max(bytes, FLOPs at their rates).");
  s.optional("name", &P::name, text(), "name in the catalogue");
  s.required("description", &P::description, text().non_empty(), "one line for lists");
  s.required("measured_on", &P::measured_on, text().non_empty(), "the GPU behind the figures; none: not measured");
  const auto whole = [](auto& x) -> auto& {
    return x;
  };
  s.object("linear", whole, linear_schema(), Presence::required, "linear layers");
  s.object("attention", whole, attention_schema(), Presence::required, "attention");
  s.object("machine", &P::machine, measured_machine_schema(), Presence::optional,
           "datasheet of measured_on; needed with fitted forms and tables");
  s.object("fitted", &P::fitted, fitted_forms_schema(), Presence::optional, "forms fitted to measured kernels");
  s.object("tables", &P::tables, measured_tables_schema(), Presence::optional, "measured times by shape");
  s.object("framework", &P::framework, framework_schema(), Presence::optional,
           "memory that the framework takes; none: a paged engine");
  s.list("all_reduce", &P::all_reduce, all_reduce_schema(), Presence::optional, "one table per group size");
  s.optional("iteration_overhead", &P::iteration_overhead_s, fixed_time(),
             "launch, scheduling and sampling, once per iteration");
  s.check(check_against_physics);
  s.check([](const P& profile, const Reporter& report) {
    std::set<int> groups;
    for (std::size_t i = 0; i < profile.all_reduce.size(); ++i) {
      const int gpus = profile.all_reduce[i].gpus;
      if (!groups.insert(gpus).second) {
        report.fail(fmt::format("all_reduce.{}.gpus", i), fmt::format("a second table for {} GPUs", gpus));
      }
    }
  });
  return s;
}

}  // namespace

const ObjectSchema<KernelProfile>& profile_schema() {
  static const ObjectSchema<KernelProfile> schema = make_schema();
  return schema;
}

}  // namespace kvsim::models
