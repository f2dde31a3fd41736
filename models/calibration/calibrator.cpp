#include "models/calibration/calibrator.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/calibration/device_fits.h"
#include "models/calibration/latent_fit.h"
#include "models/calibration/model_shapes.h"
#include "models/calibration/operator_fits.h"
#include "models/calibration/operator_report.h"
#include "models/calibration/physics.h"

namespace kvsim::models {
namespace {

class Calibrator {
 public:
  /// `framework`: whose rows these are.
  Calibrator(const GpuSpec& gpu, const std::string& framework, Samples samples, std::vector<OtherMachine> others,
             const std::vector<LlmSpec>& models, const CalibrationOptions& options)
      : gpu_(gpu),
        kernels_(framework == kUsualKernels ? "" : framework),
        machine_(Machine::of(gpu)),
        samples_(std::move(samples)),
        latents_(latents_of(samples_)),
        others_(std::move(others)),
        models_(shapes_of(models)),
        options_(options) {}

  void run(Calibration& result) {
    result_ = &result;
    describe_machine();
    const std::vector<std::string> throttled = throttled_in(samples_.device, result.warnings);
    if (!throttled.empty()) throttled_ = fmt::format(", the GPU throttled in {}", fmt::join(throttled, " and "));
    fit_roofline(samples_, machine_, reference("roofline"), options_.before_step, result.profile);
    for (const NumberFormat format : kWeightFormats) {
      if (!wait_for_launch(samples_.linear, format)) fit_linear(format);
      fit_moe(format);
    }
    prepare_blocks();
    for (const NumberFormat format : kKvFormats) {
      fit_decode(format, false);
      fit_verify(format);
      fit_tiled({.kv = format});
      fit_tiled({.kv = format, .mixed = true});
      fit_decode(format, true);
      fit_tiled({.kv = format, .latent = true});
    }
    fit_low_bit();
    samples_.linear_blocks = linear_blocks(latents_, samples_, result.profile.fitted, machine_);
    for (const NumberFormat format : kWeightFormats) {
      if (wait_for_launch(samples_.linear, format)) fit_linear(format);
    }
    fit_elementwise();
    fit_device(
        samples_.device, machine_, options_.before_step,
        [this](const std::string& what, const OperatorReport& r) { return reference(what, r); }, result);
    add_tables();
    note_overhead(options_, result);
  }

 private:
  template <class Sample>
  void note_versions(const std::vector<Sample>& rows) {
    for (const Sample& row : rows) {
      if (row.from.version.empty() || row.from.framework.empty()) continue;
      versions_.insert(row.from.framework + " " + row.from.version);
    }
  }

  void describe_machine() {
    KernelProfile& p = result_->profile;
    p.name = options_.profile;
    p.description =
        fmt::format("{}, fitted to {}", gpu_.description.substr(0, gpu_.description.find(';')), options_.data);
    p.measured_on = gpu_.name;
    p.machine = measured_machine(gpu_);
    const auto note = [this](const auto&... rows) { (note_versions(rows), ...); };
    note(samples_.linear, samples_.decode, samples_.prefill, samples_.moe, samples_.latent_decode,
         samples_.latent_prefill);
  }

  /// The reference beside a figure.
  [[nodiscard]] std::string reference(const std::string& operation) const {
    std::string text = fmt::format("fit to {}{}", options_.data, throttled_);
    if (!versions_.empty()) text += fmt::format(", {}", fmt::join(versions_, ", "));
    return text + fmt::format(", {}", operation);
  }

  /// reference() with how far a fit is off, for forms that have no key for that.
  [[nodiscard]] std::string reference(const std::string& operation, const OperatorReport& report) const {
    const std::optional<FormError> error = error_of(report);
    return error ? fmt::format("{}; {}", reference(operation), words_of(*error)) : reference(operation);
  }

  /// Fits one problem and reports on it; null where there are too few rows.
  std::optional<Solution> fit_operator(const std::string& name, const std::string& format, const FitProblem& problem,
                                       const std::vector<ShapeSet>& models, OperatorReport& report) {
    report.name = name;
    report.format = format;
    return fit_and_report(problem, models, options_, report, result_->warnings);
  }

  /// Adds a form, with where it comes from and how far it is off, and its report.
  template <class Form>
  void keep(std::vector<Form>& forms, Form form, std::string from, OperatorReport report) {
    form.source = {schema::SourceKind::measurement, std::move(from)};
    form.error = error_of(report);
    forms.push_back(std::move(form));
    result_->operators.push_back(std::move(report));
  }

  /// `make` builds the problem of an operator from samples on a machine.
  template <class Make>
  void add_transfers(const Make& make, OperatorReport& report) {
    add_chosen_transfers([&make](const OtherMachine& /*other*/) { return make; }, report);
  }

  /// `maker` chooses what the rows of another machine say of the form and gives the `make` for it.
  template <class Maker>
  void add_chosen_transfers(const Maker& maker, OperatorReport& report) {
    if (!options_.other_machines) return;
    for (const OtherMachine& other : others_) {
      const auto make = maker(other);
      const FitProblem there = make(other.samples, Machine::of(other.gpu));
      if (!enough_rows(there, there.measured.size())) continue;
      Machine machine = machine_;
      machine.as_measured = !gpu_.architecture.empty() && gpu_.architecture == other.gpu.architecture;
      const FitProblem here = make(samples_, machine);
      const Solution found = fit(there, all_rows(there));
      report.machines.push_back({other.gpu.name, summarise(errors(here, found, all_rows(here)))});
    }
  }

  void fit_linear(NumberFormat format) {
    const auto make = [this, format](const Samples& s, const Machine& machine) {
      return stoppable(
          linear_problem(of_format(s.linear, format), format, machine, of_format(s.linear_blocks, format)));
    };
    OperatorReport report;
    const auto found = fit_operator("linear", word(format), make(samples_, machine_), models_.linear, report);
    if (!found) return;
    add_transfers(make, report);
    LinearForm form = linear_form(format, found->values);
    form.correction = found->correction;
    form.kernels = kernels_;
    for (const LinearSample& row : of_format(samples_.linear, format)) form.valid_to = std::max(form.valid_to, row.m);
    const bool blocks = !of_format(samples_.linear_blocks, format).empty();
    form.source = {schema::SourceKind::measurement,
                   reference(blocks ? "linear layers, alone and in blocks over latents" : "linear layers")};
    form.error = error_of(report);
    std::vector<LinearForm>& forms = result_->profile.fitted.linear;
    const auto wider = [](const LinearForm& a, const LinearForm& b) { return a.weights < b.weights; };
    forms.insert(std::upper_bound(forms.begin(), forms.end(), form, wider), form);
    result_->operators.push_back(std::move(report));
  }

  [[nodiscard]] const FittedForms* known_of(const std::string& gpu) const {
    const auto known = options_.known.find(gpu);
    return known == options_.known.end() ? nullptr : &known->second;
  }

  void prepare_blocks() {
    const FittedForms* known = known_of(gpu_.name);
    const LinearForm* linear = form_for(result_->profile.fitted.linear, &LinearForm::weights, NumberFormat::bf16);
    if (!linear && known) linear = form_for(known->linear, &LinearForm::weights, NumberFormat::bf16);
    for (std::string& note : prepare_latents(samples_, linear, machine_)) result_->warnings.push_back(std::move(note));
    for (OtherMachine& other : others_) {
      prepare_by_known(other.samples, known_of(other.gpu.name), Machine::of(other.gpu));
    }
  }

  /// The name of a fit: its operation, and whose kernel it is of.
  template <class Sample>
  [[nodiscard]] static std::string name_of(const char* operation, bool latent, const std::vector<Sample>& rows) {
    if (!latent) return operation;
    const bool block = rows.front().block.projections.has_value();
    return fmt::format("latent {} by {}{}", operation, main_kernel(rows),
                       block ? ", of blocks with their linear layers" : "");
  }

  void fit_decode(NumberFormat format, bool latent) {
    const auto rows_of = [format, latent](const Samples& s) {
      return of_format(latent ? s.latent_decode : s.decode, format);
    };
    const std::vector<DecodeSample> rows = rows_of(samples_);
    if (rows.empty()) return;
    const DecodeKind any{.kv = format, .latent = latent};
    const DecodeKind kind = best_split(rows, any, machine_, options_.before_step);
    const auto make_with = [&](const DecodeKind& chosen) {
      return [&, chosen](const Samples& s, const Machine& machine) {
        return stoppable(decode_problem(rows_of(s), chosen, machine));
      };
    };
    const auto make_for = [&](const OtherMachine& other) {
      return make_with(best_split(rows_of(other.samples), any, Machine::of(other.gpu), options_.before_step));
    };
    OperatorReport report;
    const auto found =
        fit_operator(latent ? "latent decode attention" : "decode attention", word(format),
                     make_with(kind)(samples_, machine_), latent ? models_.latent : models_.attention, report);
    if (!found) return;
    add_chosen_transfers(make_for, report);
    DecodeForm form = decode_form(kind, found->values);
    form.correction = found->correction;
    if (!latent) {
      form.kernels = kernels_;
      fit_variants(
          samples_, machine_, [this](const std::string& what) { return reference(what); }, form, result_->profile);
    }
    for (const DecodeSample& row : rows) {
      form.valid_to = std::max(form.valid_to, row.kv_bytes());
      if (row.queries > 1) form.chunks_up_to = std::max(form.chunks_up_to, row.queries);
    }
    const auto warm = [](const DecodeSample& row) { return row.warm; };
    form.hits_in_serving = !latent && std::none_of(samples_.decode.begin(), samples_.decode.end(), warm);
    FittedForms& fitted = result_->profile.fitted;
    keep(latent ? fitted.latent_decode_attention : fitted.decode_attention, std::move(form),
         reference(name_of("decode attention", latent, rows)), std::move(report));
  }

  /// Several query tokens, on top of decode attention.
  void fit_verify(NumberFormat format) {
    const DecodeForm* decode = form_for(result_->profile.fitted.decode_attention, &DecodeForm::kv, format);
    const std::vector<AttentionVariant> rows = verify_rows(samples_.variants, format);
    if (decode == nullptr || rows.empty()) return;
    const VerifyKind kind = best_block(rows, {.kv = format}, *decode, machine_, options_.before_step);
    OperatorReport report;
    const auto found =
        fit_operator("verification attention", word(format), stoppable(verify_problem(rows, kind, *decode, machine_)),
                     models_.attention, report);
    if (!found) return;
    report.values.push_back({"block_rows", kind.block_rows, false});
    VerifyForm form = verify_form(kind, found->values);
    for (const AttentionVariant& row : rows) form.valid_to = std::max(form.valid_to, row.query_tokens);
    keep(result_->profile.fitted.verify_attention, std::move(form),
         reference("attention of several query tokens, on top of the decode form"), std::move(report));
  }

  /// Fits KV in few bits on top of the form of bf16 KV. Keys by channel, as KIVI's and engines', decide where
  /// they were measured; the report has both.
  void fit_low_bit() {
    KernelProfile& profile = result_->profile;
    const DecodeForm* decode = form_for(profile.fitted.decode_attention, &DecodeForm::kv, NumberFormat::bf16);
    if (decode == nullptr) return;
    const double bytes_per_s = profile.attention_bandwidth_efficiency.value * machine_.memory_bytes_per_s;
    for (const bool by_channel : {false, true}) {
      const std::vector<AttentionVariant> rows = low_bit_rows(samples_.variants, by_channel);
      if (rows.empty()) continue;
      OperatorReport report;
      const auto fitted =
          fit_operator(by_channel ? "low-bit attention, keys by channel" : "low-bit attention", "int",
                       stoppable(low_bit_problem(rows, *decode, machine_, bytes_per_s)), models_.attention, report);
      if (!fitted) continue;
      const LowBitAttention found = low_bit_attention(fitted->values);
      constexpr double kFelt = 1.005;
      profile.low_bit = {};
      if (most_time_factor(rows, found, bytes_per_s, machine_) > kFelt) {
        profile.low_bit = found;
        profile.low_bit.elements_per_s.source = {
            schema::SourceKind::measurement,
            reference(fmt::format("attention over KV of few bits, scales of keys by {}, by the decode form",
                                  by_channel ? "channel" : "token"),
                      report)};
      }
      result_->operators.push_back(std::move(report));
    }
  }

  [[nodiscard]] FitProblem stoppable(FitProblem problem) const {
    problem.before_step = options_.before_step;
    return problem;
  }

  /// `any`: of every tile.
  void fit_tiled(const TiledKind& any) {
    const auto rows_of = [&any](const Samples& s) {
      return of_format(any.latent ? s.latent_prefill : any.mixed ? s.mixed : s.prefill, any.kv);
    };
    const std::vector<TiledSample> rows = rows_of(samples_);
    if (rows.empty()) return;
    const TiledKind kind = best_tile(rows, any, machine_, options_.before_step);
    const auto make_with = [&](const TiledKind& chosen) {
      return [&, chosen](const Samples& s, const Machine& machine) {
        return stoppable(tiled_problem(rows_of(s), chosen, machine));
      };
    };
    // A fit of another machine's rows must know nothing of this one's, the tile included.
    const auto make_for = [&](const OtherMachine& other) {
      return make_with(best_tile(rows_of(other.samples), any, Machine::of(other.gpu), options_.before_step));
    };
    OperatorReport report;
    const std::string name = any.latent  ? "latent prefill attention"
                             : any.mixed ? "mixed attention"
                                         : "prefill attention";
    const auto found = fit_operator(name, word(any.kv), make_with(kind)(samples_, machine_),
                                    any.latent ? models_.latent : models_.attention, report);
    if (!found) return;
    add_chosen_transfers(make_for, report);
    report.values.push_back({"tile_rows", kind.tile_rows, false});
    TiledForm form = tiled_form(kind, found->values);
    form.correction = found->correction;
    if (!any.latent && !any.mixed) form.kernels = kernels_;
    for (const TiledSample& row : rows) {
      form.valid_to = std::max({form.valid_to, row.before + row.tokens, row.decode_kv});
    }
    FittedForms& fitted = result_->profile.fitted;
    keep(any.latent  ? fitted.latent_prefill_attention
         : any.mixed ? fitted.mixed_attention
                     : fitted.prefill_attention,
         std::move(form), reference(any.latent ? name_of("prefill attention", true, rows) : name), std::move(report));
    if (any.mixed) {  // rows of chunks beside decoding requests: how it was measured is how steps run
      AttentionLaunches& launches = result_->profile.launches;
      launches.prefill = launches.mixed = Launch::mixed;
      launches.source = {schema::SourceKind::measurement, options_.data};
    }
  }

  void fit_moe(NumberFormat format) {
    const auto make = [this, format](const Samples& s, const Machine& machine) {
      return stoppable(moe_problem(of_main_kernel(of_format(s.moe, format)), format, machine));
    };
    const std::vector<MoeSample> all = of_format(samples_.moe, format);
    const std::vector<MoeSample> rows = of_main_kernel(all);
    OperatorReport report;
    const auto found = fit_operator("routed experts", word(format), make(samples_, machine_), models_.moe, report);
    if (!found) return;
    if (rows.size() < all.size()) {
      result_->warnings.push_back(fmt::format("routed experts {}: {} rows by other kernels than {} are left out",
                                              report.format, all.size() - rows.size(), rows.front().kernel));
    }
    add_transfers(make, report);
    MoeForm form = moe_form(format, found->values);
    for (const MoeSample& row : rows) form.valid_to = std::max(form.valid_to, row.tokens);
    const std::string& kernel = rows.front().kernel;
    keep(result_->profile.fitted.moe, std::move(form),
         reference(kernel.empty() ? "routed experts" : fmt::format("routed experts by {}", kernel)), std::move(report));
  }

  void fit_elementwise() {
    // Where no layer profile has them, as passes over memory.
    const bool layers = !samples_.elementwise.empty();
    const auto make = [this, layers](const Samples& s, const Machine& machine) {
      return stoppable(layers ? elementwise_problem(s.elementwise, machine) : memory_problem(s.device.memory, machine));
    };
    OperatorReport report;
    const auto found = fit_operator("elementwise", "bf16", make(samples_, machine_), {}, report);
    if (!found) return;
    ElementwiseForm form = elementwise_form(found->values);
    form.source = {schema::SourceKind::measurement,
                   reference(layers ? "norms, rotary embedding, activation" : "passes over memory", report)};
    result_->profile.fitted.elementwise = form;
    result_->operators.push_back(std::move(report));
  }

  void add_tables() {
    const TableTolerances tolerance;
    const std::string from = fmt::format("least-squares curves through {}", options_.data);
    const schema::Source source{schema::SourceKind::measurement, from};
    result_->collectives = collective_tables(samples_.collectives, tolerance, result_->tables);
    for (CollectiveTable& t : result_->collectives)
      t.source.reference = fmt::format("{}, {}", from, t.source.reference);
    if (!options_.tables) return;
    if (options_.before_step) options_.before_step();
    MeasuredTables& tables = result_->profile.tables;
    tables.linear = linear_tables(samples_.linear, tolerance, result_->tables);
    tables.decode_attention = decode_tables(samples_.decode, result_->tables);
    tables.sampler = sampler_table(samples_.sampler, tolerance, result_->tables);
    for (LinearTable& t : tables.linear) t.source = source;
    for (DecodeTable& t : tables.decode_attention) t.source = source;
    tables.sampler_source = source;
  }

  const GpuSpec& gpu_;
  std::string kernels_;  ///< of forms that engines have their own of
  Machine machine_;
  Samples samples_;
  Samples latents_;  ///< all there were, before some are left out of their own fits
  std::vector<OtherMachine> others_;
  ModelShapes models_;
  const CalibrationOptions& options_;
  std::set<std::string> versions_;
  std::string throttled_;  ///< for references; empty: it did not, or nobody looked
  Calibration* result_ = nullptr;
};

}  // namespace

void fit_profile(const GpuSpec& gpu, const std::string& framework, Samples samples, std::vector<OtherMachine> others,
                 const std::vector<LlmSpec>& models, const CalibrationOptions& options, Calibration& result) {
  Calibrator(gpu, framework, std::move(samples), std::move(others), models, options).run(result);
}

}  // namespace kvsim::models
