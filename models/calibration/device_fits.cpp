#include "models/calibration/device_fits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

std::optional<double> launch_of(const std::vector<LaunchSample>& rows, const char* what) {
  std::vector<double> times;
  for (const LaunchSample& row : rows) {
    if (row.what == what) times.push_back(row.seconds);
  }
  return median_of(std::move(times));
}

template <class Row, class Keep>
std::vector<Row> only(const std::vector<Row>& rows, const Keep& keep) {
  std::vector<Row> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), keep);
  return kept;
}

/// A problem whose rows are predicted one by one.
template <class Row, class Seconds>
FitProblem problem_of(std::vector<Row> rows, std::vector<Parameter> parameters, const Seconds& seconds_of) {
  FitProblem problem;
  problem.parameters = std::move(parameters);
  problem.spread_starts = 8;
  for (const Row& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({});
  }
  problem.predict = by_row([](std::span<const double> values) { return values; },
                           [rows = std::move(rows), seconds_of](std::span<const double> values, std::size_t i) {
                             return seconds_of(values, rows[i]);
                           });
  return problem;
}

class DeviceFits {
 public:
  DeviceFits(const DeviceSamples& samples, const Machine& machine, const std::function<void()>& before_step,
             const ReferenceOf& reference, Calibration& result)
      : samples_(samples), machine_(machine), before_step_(before_step), reference_(reference), result_(result) {}

  void run() {
    fit_link();
    fit_top_k();
    fit_quantising();
    fit_storage();
    fit_host_memory();
    note_launches();
    note_interference();
  }

 private:
  /// Empty where there are too few rows.
  std::vector<double> solve(const std::string& name, const std::string& format, FitProblem problem,
                            schema::Source& source) {
    if (problem.measured.empty()) return {};
    if (!enough_rows(problem, problem.measured.size())) {
      result_.warnings.push_back(
          fmt::format("{} {}: {} rows are too few to fit {} parameters, expected twice as many; left out", name, format,
                      problem.measured.size(), free_parameters(problem)));
      return {};
    }
    problem.before_step = before_step_;
    const Solution found = fit(problem, all_rows(problem));
    OperatorReport report;
    report.name = name;
    report.format = format;
    report.in_sample = summarise(errors(problem, found, all_rows(problem)));
    for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
      const Parameter& p = problem.parameters[i];
      if (p.low < p.high) {
        report.values.push_back({p.name, found.values[i], found.values[i] <= p.low || found.values[i] >= p.high});
      }
    }
    source = measured(name, report);
    result_.operators.push_back(std::move(report));
    return found.values;
  }

  [[nodiscard]] schema::Source measured(const std::string& what, const OperatorReport& report = {}) const {
    return {schema::SourceKind::measurement, reference_(what, report)};
  }

  LinkSpec& link() {
    if (!result_.host_link) result_.host_link.emplace();
    return *result_.host_link;
  }

  /// Seconds before or after the bytes of a copy; none where it was not fitted.
  std::optional<double> fit_way(bool to_gpu, Sourced<double>& bytes_per_s) {
    schema::Source source;
    const double most = machine_.memory_bytes_per_s / kGB;
    const std::vector<double> values = solve(
        to_gpu ? "copies to the GPU" : "copies from the GPU", "pinned",
        problem_of(
            only(samples_.copies, [to_gpu](const CopySample& row) { return !row.both_ways && row.to_gpu == to_gpu; }),
            {{"fixed (us)", 8, 0, 1000}, {"bandwidth (GB/s)", 25, 0.1, most}},
            [](std::span<const double> v, const CopySample& row) {
              return v[0] * kMicrosecond + row.bytes / (v[1] * kGB);
            }),
        source);
    if (values.empty()) return std::nullopt;
    bytes_per_s = {values[1] * kGB, source};
    return values[0] * kMicrosecond;
  }

  void fit_link() {
    fit_gathers();
    Sourced<double> read, write;
    const std::optional<double> fixed_in = fit_way(true, read);
    const std::optional<double> fixed_out = fit_way(false, write);
    if (!fixed_in || !fixed_out) return;
    LinkSpec& l = link();
    l.read_bytes_per_s = read;
    l.write_bytes_per_s = write;
    // One copy waits for its submission and its way; of many, each is submitted while the one before it moves.
    const double fixed = (*fixed_in + *fixed_out) / 2;
    const GatherMethod* single = find_gather(l, "single_copies", 1);
    l.setup_s = single ? Sourced<double>{std::min(single->per_row_s.value, fixed), single->per_row_s.source}
                       : Sourced<double>{0, {schema::SourceKind::derived, "all of a copy's fixed time is its latency"}};
    l.latency_s = {rounded(fixed - l.setup_s.value), read.source};
    l.setup_s.value = rounded(l.setup_s.value);
    const std::optional<double> in = rate_both_ways(true), out = rate_both_ways(false);
    if (in && out) {
      l.both_ways_bytes_per_s = {rounded(std::min(*in + *out, read.value + write.value)),
                                 measured("copies both ways at once")};
    }
  }

  /// Rate of the largest copies beside one of the same size in the other direction.
  [[nodiscard]] std::optional<double> rate_both_ways(bool to_gpu) const {
    double most = 0;
    for (const CopySample& row : samples_.copies) most = std::max(most, row.both_ways ? row.bytes : 0);
    std::vector<double> rates;
    for (const CopySample& row : samples_.copies) {
      constexpr double kLarge = 0.25;
      if (!row.both_ways || row.to_gpu != to_gpu || row.bytes < kLarge * most) continue;
      rates.push_back(row.bytes / row.seconds);
    }
    return median_of(std::move(rates));
  }

  void fit_gathers() {
    for (const char* name : {"single_copies", "batched_copies", "mapped_reads"}) {
      schema::Source source;
      const double most = machine_.memory_bytes_per_s / kGB;
      const std::vector<double> values =
          solve("gathered rows", name,
                problem_of(only(samples_.gathers, [name](const GatherSample& row) { return row.method == name; }),
                           {{"per_row (us)", 0.5, 1e-4, 100}, {"bandwidth (GB/s)", 25, 0.1, most}},
                           [](std::span<const double> v, const GatherSample& row) {
                             return row.rows * std::max(v[0] * kMicrosecond, row.row_bytes / (v[1] * kGB));
                           }),
                source);
      if (values.empty()) continue;
      link().gathers.push_back({name, {values[0] * kMicrosecond, source}, {values[1] * kGB, source}});
    }
  }

  /// Rates of one thread alone and of all at once, of threads that each move `bytes`; the fixed time of each.
  template <class Row>
  std::optional<double> fit_threads(const char* name, std::vector<Row> rows, double most_gb_per_s,
                                    Sourced<double>& bytes_per_s) {
    schema::Source source;
    const std::vector<double> values =
        solve(name, "bytes",
              problem_of(std::move(rows),
                         {{"fixed (us)", 80, 0, 1e5},
                          {"of one thread (GB/s)", 3, 0.01, most_gb_per_s},
                          {"of all (GB/s)", 6, 0.01, most_gb_per_s}},
                         [](std::span<const double> v, const Row& row) {
                           return std::max(v[0] * kMicrosecond + row.bytes / (v[1] * kGB),
                                           row.threads * row.bytes / (v[2] * kGB));
                         }),
              source);
    if (values.empty()) return std::nullopt;
    bytes_per_s = {values[2] * kGB, source};
    return values[0] * kMicrosecond;
  }

  void fit_storage() {
    constexpr double kFastest = 500;
    const auto rows = [this](bool write) {
      return only(samples_.storage, [write](const StorageSample& row) { return row.write == write; });
    };
    LinkSpec drive;
    drive.kind = LinkKind::storage;
    const auto fixed = fit_threads("reads of storage", rows(false), kFastest, drive.read_bytes_per_s);
    if (!fixed || !fit_threads("writes of storage", rows(true), kFastest, drive.write_bytes_per_s)) return;
    drive.latency_s = {rounded(*fixed), drive.read_bytes_per_s.source};
    drive.setup_s = {0, {schema::SourceKind::derived, "all of a read's fixed time is its latency"}};
    result_.storage = drive;
  }

  /// Rates of host memory for all that read and write it, which bound the GPUs' copies together.
  void fit_host_memory() {
    constexpr double kFastest = 5000;
    const auto rows = [this](const char* kind) {
      return only(samples_.host_memory, [kind](const HostMemorySample& row) { return row.kind == kind; });
    };
    LinkSpec memory;
    const auto fixed = fit_threads("reads of host memory", rows("read"), kFastest, memory.read_bytes_per_s);
    const auto written = fit_threads("writes of host memory", rows("write"), kFastest, memory.write_bytes_per_s);
    const auto copied = fit_threads("copies of host memory", rows("copy"), kFastest, memory.both_ways_bytes_per_s);
    if (!fixed || !written || !copied) return;
    double& both = memory.both_ways_bytes_per_s.value;  // a copied byte is read and written
    both = std::min(2 * both, memory.read_bytes_per_s.value + memory.write_bytes_per_s.value);
    memory.latency_s = {0, {schema::SourceKind::derived, "that of the link that crosses it"}};
    memory.setup_s = memory.latency_s;
    result_.host_memory = memory;
    const double copies = result_.host_link ? result_.host_link->read_bytes_per_s.value : 0;
    constexpr double kMany = 8;  // GPUs of a node
    if (copies > 0 && kMany * copies > memory.read_bytes_per_s.value) {
      result_.warnings.push_back(
          fmt::format("host memory is read at {:.0f} GB/s, a GPU copies from it at {:.0f}: more than {:.1f} GPUs at "
                      "once wait for it",
                      memory.read_bytes_per_s.value / kGB, copies / kGB, memory.read_bytes_per_s.value / copies));
    }
  }

  void fit_top_k() {
    schema::Source source;
    const auto form_of = [](std::span<const double> v) {
      return TopKForm{v[0] * kMicrosecond, v[1] * kNanosecond, v[2], {}};
    };
    const Machine machine = machine_;
    const std::vector<double> values =
        solve("top k", "fp32",
              problem_of(samples_.top_k,
                         {{"t0 (us)", 10, 0, 500}, {"per_score (ns)", 0.5, 1e-4, 100}, {"rows_at_once", 2, 0.25, 64}},
                         [form_of, machine](std::span<const double> v, const TopKSample& row) {
                           return form_of(v).seconds(row.rows, row.columns, machine);
                         }),
              source);
    if (values.empty()) return;
    result_.profile.fitted.top_k = form_of(values);
    result_.profile.fitted.top_k->source = source;
  }

  std::optional<ElementwiseForm> fit_pass(const char* name, bool back) {
    schema::Source source;
    const auto form_of = [](std::span<const double> v) {
      ElementwiseForm form;
      form.t0_s = v[0] * kMicrosecond;
      form.stream.bandwidth_efficiency = v[1];
      return form;
    };
    const Machine machine = machine_;
    const std::vector<double> values =
        solve(name, "bf16",
              problem_of(only(samples_.quantise, [back](const QuantiseSample& row) { return row.back == back; }),
                         {{"t0 (us)", 5, 0, 200}, {"bandwidth_efficiency", 0.6, 0.01, 1.05}},
                         [form_of, machine](std::span<const double> v, const QuantiseSample& row) {
                           const ElementwiseForm form = form_of(v);
                           return form.t0_s + form.stream.seconds(row.full_bytes + row.packed_bytes, machine, true);
                         }),
              source);
    if (values.empty()) return std::nullopt;
    ElementwiseForm form = form_of(values);
    form.source = source;
    return form;
  }

  void fit_quantising() {
    result_.profile.fitted.quantise = fit_pass("quantising", false);
    result_.profile.fitted.dequantise = fit_pass("dequantising", true);
  }

  void note_launches() {
    const auto note = [&](const char* what, const char* words, Sourced<double>& figure) {
      if (const auto s = launch_of(samples_.launch, what)) figure = {rounded(*s), measured(words)};
    };
    note("host_per_graph", "launch of a graph of 500 kernels by the CPU", result_.profile.launch.graph_s);
    note("host_per_launch", "launch of a kernel by the CPU", result_.profile.launch.kernel_s);
  }

  void note_interference() {
    const auto note = [&](bool kernel, bool to_gpu, const char* words, Sourced<double>& figure) {
      std::vector<double> shares;
      for (const InterferenceSample& row : samples_.interference) {
        if (row.kernel == kernel && row.to_gpu == to_gpu) shares.push_back(row.seconds / row.alone_s - 1);
      }
      if (const auto share = median_of(std::move(shares))) figure = {std::max(rounded(*share), 0.0), measured(words)};
    };
    Interference& i = result_.profile.interference;
    note(true, true, "kernels that stream memory, during a copy to the GPU", i.kernels_to_gpu);
    note(true, false, "kernels that stream memory, during a copy from the GPU", i.kernels_from_gpu);
    note(false, true, "copies to the GPU, during a kernel that streams memory", i.copies_to_gpu);
    note(false, false, "copies from the GPU, during a kernel that streams memory", i.copies_from_gpu);
  }

  const DeviceSamples& samples_;
  const Machine& machine_;
  const std::function<void()>& before_step_;
  const ReferenceOf& reference_;
  Calibration& result_;
};

}  // namespace

LaunchTimes launch_times(const std::vector<LaunchSample>& rows) {
  LaunchTimes t;
  t.event_pair_s = launch_of(rows, "event_pair").value_or(0);
  const std::optional<double> alone = launch_of(rows, "kernel_alone");
  const std::optional<double> in_graph = launch_of(rows, "kernel_in_graph");
  if (!alone || !in_graph) return t;
  t.in_graph_s = *in_graph;
  t.beyond_graph_s = std::max(*alone - *in_graph, 0.0);
  return t;
}

void subtract_launches(Samples& samples) {
  const LaunchTimes launch = launch_times(samples.device.launch);
  const auto subtract = [&launch](bool ours_alone, auto& rows) {
    for (auto& row : rows) {
      if (ours_alone && row.from.framework != "kvsim") continue;
      row.seconds = std::max(row.seconds - launch.beyond_graph_s, launch.in_graph_s);
    }
  };
  const auto from_all = [&](bool ours_alone, auto&... tables) { (subtract(ours_alone, tables), ...); };
  from_all(true, samples.linear, samples.decode, samples.prefill, samples.moe, samples.latent_decode,
           samples.latent_prefill, samples.variants);
  from_all(false, samples.device.memory, samples.device.top_k, samples.device.quantise);
  for (CopySample& row : samples.device.copies) {
    constexpr double kLeft = 0.1;  // of a time, whatever the events took
    row.seconds = std::max(row.seconds - launch.event_pair_s, kLeft * row.seconds);
  }
}

FitProblem memory_problem(std::vector<MemorySample> rows, const Machine& machine) {
  FitProblem problem = elementwise_problem({}, machine);
  for (const MemorySample& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({{row.bytes, 0}, row.kind + (row.cold ? ", cold" : ", warm")});
  }
  problem.predict =
      by_row(elementwise_form, [rows = std::move(rows), machine](const ElementwiseForm& form, std::size_t i) {
        return form.t0_s + form.stream.seconds(rows[i].bytes, machine, rows[i].cold);
      });
  return problem;
}

void note_overhead(const CalibrationOptions& options, Calibration& result) {
  if (options.iteration_overhead_s) {
    result.profile.iteration_overhead_s = {
        *options.iteration_overhead_s,
        {schema::SourceKind::assumption,
         "not measured: what an iteration takes beside its kernels, as given to kvsim calibrate"}};
    return;
  }
  result.profile.iteration_overhead_s = {
      kAssumedOverhead,
      {schema::SourceKind::assumption,
       "launch, scheduling and sampling of a serving engine with CUDA graphs; order of magnitude, not measured"}};
  result.warnings.push_back(fmt::format("iteration_overhead: {:.4g} ms assumed, not measured", kAssumedOverhead * 1e3));
}

void fit_device(const DeviceSamples& samples, const Machine& machine, const std::function<void()>& before_step,
                const ReferenceOf& reference, Calibration& result) {
  DeviceFits(samples, machine, before_step, reference, result).run();
}

}  // namespace kvsim::models
