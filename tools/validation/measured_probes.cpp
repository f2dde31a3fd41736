// Probes of measured data: kernel times row by row against profiles, and public serving points.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/calibration/calibrate.h"
#include "models/calibration/latent_fit.h"
#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"
#include "models/catalogue/catalogue.h"
#include "models/kernels/linear_shapes.h"
#include "tools/validation/expression.h"
#include "tools/validation/is_there.h"
#include "tools/validation/probes.h"

namespace kvsim::validation {
namespace {

using models::KernelProfile;
using models::Machine;
using models::NumberFormat;

constexpr std::array kFormats{NumberFormat::bf16, NumberFormat::fp8, NumberFormat::fp8_block, NumberFormat::nvfp4};

/// The form of this format among those of a kind; without it the rows cannot be compared.
template <class Form>
const Form& needed(const KernelProfile& p, const std::vector<Form>& forms, NumberFormat Form::*key, NumberFormat format,
                   const char* kind) {
  const Form* form = form_for(forms, key, format);
  if (form == nullptr) {
    throw ExpressionError(fmt::format("profile {} has no fitted form of {} in {}", p.name, kind, word(format)));
  }
  return *form;
}

double linear_s(const KernelProfile& p, const Machine& m, const models::LinearSample& row) {
  const auto& form = needed(p, p.fitted.linear, &models::LinearForm::weights, row.weights, "linear layers");
  return models::linear_time(p, form, {row.n, row.k, 1}, row.m, m, row.run).seconds;
}

double decode_s(const KernelProfile& p, const Machine& m, const models::DecodeSample& row) {
  const auto& form = needed(p, p.fitted.decode_attention, &models::DecodeForm::kv, row.kv, "decode attention");
  return form.time(models::call_of(row), m, row.warm).seconds;
}

double prefill_s(const KernelProfile& p, const Machine& m, const models::TiledSample& row) {
  return tiled_s(needed(p, p.fitted.prefill_attention, &models::TiledForm::kv, row.kv, "prefill attention"), row, m);
}

double mixed_s(const KernelProfile& p, const Machine& m, const models::TiledSample& row) {
  return tiled_s(needed(p, p.fitted.mixed_attention, &models::TiledForm::kv, row.kv, "mixed attention"), row, m);
}

/// Rows of files of the folder of measured data, their names between blanks; none where one is missing.
const models::Samples& samples_of(ReadData& measured, const std::string& files) {
  auto& samples = measured.kernels[files];
  if (samples) return *samples;
  static const models::LlmSpec llama = models::Catalogue::built_in().model("llama-3.1-8b");
  models::Readings readings;
  for (const std::string& name : split(files, ' ')) {
    const std::string path = measured.folder + "/" + name;
    if (measured.folder.empty() || !is_there(path)) {
      readings = {};
      break;
    }
    read_samples(path, &llama, true, readings);
  }
  return *(samples = std::make_shared<models::Samples>(std::move(readings.samples)));
}

/// The rows to compare: whose they are, by which machine's profile they are timed, and in which format; of which
/// engine, and by which profile where it is not the machine's.
struct Rows {
  std::string gpu, from;
  std::optional<NumberFormat> format;
  std::string kernels{models::kUsualKernels};
  std::string profile{};
};

template <class Row>
models::ErrorSummary errors_of(const Rows& which, const std::vector<Row>& rows, NumberFormat Row::*format,
                               double (*seconds)(const KernelProfile&, const Machine&, const Row&)) {
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  const KernelProfile profile =
      catalogue.profile(which.profile.empty() ? catalogue.gpu(which.from).profile : which.profile);
  const Machine machine = machine_for(catalogue.gpu(which.gpu), profile);
  std::vector<double> errors;
  for (const Row& row : rows) {
    const bool of_gpu = row.from.gpu.empty() || models::names_gpu(row.from.gpu, which.gpu);
    const bool of_engine = row.from.framework.empty() || row.from.framework == which.kernels;
    if (of_gpu && of_engine && (!which.format || row.*format == *which.format)) {
      errors.push_back(seconds(profile, machine, row) / row.seconds - 1);
    }
  }
  return models::summarise(errors);
}

double moe_s(const KernelProfile& p, const Machine& m, const models::MoeSample& row) {
  const models::MoeCall call{
      row.layer, row.tokens,
      row.alpha > 0 ? routed_by_power_law(row.layer, row.tokens, row.alpha) : routed_evenly(row.layer, row.tokens)};
  return needed(p, p.fitted.moe, &models::MoeForm::weights, row.weights, "routed experts").time(call, m, true).seconds;
}

double latent_decode_s(const KernelProfile& p, const Machine& m, const models::DecodeSample& row) {
  const auto& form =
      needed(p, p.fitted.latent_decode_attention, &models::DecodeForm::kv, row.kv, "latent decode attention");
  return form.time(models::call_of(row), m, row.warm).seconds + row.block.linear_s;
}

double latent_prefill_s(const KernelProfile& p, const Machine& m, const models::TiledSample& row) {
  return tiled_s(
             needed(p, p.fitted.latent_prefill_attention, &models::TiledForm::kv, row.kv, "latent prefill attention"),
             row, m) +
         row.block.linear_s;
}

/// A statistic of errors that a figure asks for; 1 where there are no rows.
double statistic_of(const models::ErrorSummary& e, std::size_t which) {
  if (which == 0) return static_cast<double>(e.count);
  if (e.count == 0) return 1;
  return which == 1 ? e.median : which == 2 ? e.p90 : e.bias;
}

const std::vector<std::string>& statistics() {
  static const std::vector<std::string> words{"count", "median", "p90", "bias"};
  return words;
}

/// Those of routed experts by the kernel that a fit takes.
std::vector<models::MoeSample> experts_rows(const models::Samples& all, const Rows& which) {
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  models::Samples experts;
  experts.moe = all.moe;
  experts = select(experts, which.gpu, "vllm", true);
  (void)refuse_impossible(experts, Machine::of(catalogue.gpu(which.gpu)));
  return of_main_kernel(which.format ? of_format(experts.moe, *which.format) : experts.moe);
}

/// Those of linear layers that take no longer than the same layer with more tokens (models::refuse_slow).
std::vector<models::LinearSample> steady_rows(const models::Samples& all, const Rows& which) {
  models::Samples linear;
  linear.linear = all.linear;
  linear = select(linear, which.gpu, "vllm", true);
  if (which.format) (void)refuse_slow(linear, *which.format);
  return std::move(linear.linear);
}

/// kernel_error(files, GPU, kind, format, GPU whose profile is taken, count | median | p90 | bias): of the |error| of
/// the rows (bias: of the error). steady: linear layers without their slow rows.
double kernel_error(const Question& q) {
  Rows which{q.arguments[1], q.arguments[4], std::nullopt};
  const std::size_t format = q.word(3, {"bf16", "fp8", "fp8_block", "nvfp4", "any"});
  if (format < kFormats.size()) which.format = kFormats[format];
  const models::Samples& samples = samples_of(q.measured, q.arguments[0]);
  const std::size_t statistic = q.word(5, statistics());
  switch (q.word(2, {"linear", "decode", "prefill", "mixed", "moe", "steady"})) {
    case 0:
      return statistic_of(errors_of(which, samples.linear, &models::LinearSample::weights, linear_s), statistic);
    case 1:
      return statistic_of(errors_of(which, samples.decode, &models::DecodeSample::kv, decode_s), statistic);
    case 2:
      return statistic_of(errors_of(which, samples.prefill, &models::TiledSample::kv, prefill_s), statistic);
    case 3:
      return statistic_of(errors_of(which, samples.mixed, &models::TiledSample::kv, mixed_s), statistic);
    case 4:
      return statistic_of(errors_of(which, experts_rows(samples, which), &models::MoeSample::weights, moe_s),
                          statistic);
    default:
      return statistic_of(errors_of(which, steady_rows(samples, which), &models::LinearSample::weights, linear_s),
                          statistic);
  }
}

/// engine_error(files, GPU, engine, linear | decode | prefill, format, profile, count | median | p90 | bias): of the
/// rows of an engine's own kernels by a profile of the catalogue.
double engine_error(const Question& q) {
  const NumberFormat format = kFormats[q.word(4, {"bf16", "fp8", "fp8_block", "nvfp4"})];
  const Rows which{q.arguments[1], q.arguments[1], format, q.arguments[2], q.arguments[5]};
  const models::Samples& samples = samples_of(q.measured, q.arguments[0]);
  const std::size_t statistic = q.word(6, statistics());
  switch (q.word(3, {"linear", "decode", "prefill"})) {
    case 0:
      return statistic_of(errors_of(which, samples.linear, &models::LinearSample::weights, linear_s), statistic);
    case 1:
      return statistic_of(errors_of(which, samples.decode, &models::DecodeSample::kv, decode_s), statistic);
    default:
      return statistic_of(errors_of(which, samples.prefill, &models::TiledSample::kv, prefill_s), statistic);
  }
}

/// block_error(files, GPU, decode | prefill, format of the KV, format of the projections, GPU whose profile is taken,
/// count | median | p90 | bias): of whole blocks over latents by the kernel that a fit takes, with their linear layers.
double block_error(const Question& q) {
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  const Rows which{q.arguments[1], q.arguments[5], kFormats[q.word(3, {"bf16", "fp8"})]};
  const NumberFormat projections = kFormats[q.word(4, {"bf16", "fp8", "fp8_block", "nvfp4"})];
  models::Samples blocks = select(latents_of(samples_of(q.measured, q.arguments[0])), which.gpu, "vllm", true);
  const KernelProfile profile = catalogue.profile(catalogue.gpu(which.from).profile);
  const Machine machine = machine_for(catalogue.gpu(which.gpu), profile);
  (void)refuse_impossible(blocks, machine);
  prepare_latents(blocks,
                  &needed(profile, profile.fitted.linear, &models::LinearForm::weights, projections, "linear layers"),
                  machine);
  return statistic_of(q.word(2, {"decode", "prefill"}) == 0
                          ? errors_of(which, blocks.latent_decode, &models::DecodeSample::kv, latent_decode_s)
                          : errors_of(which, blocks.latent_prefill, &models::TiledSample::kv, latent_prefill_s),
                      q.word(6, statistics()));
}

/// Rows left out of a fit, and which statistic of their errors is asked for.
struct HeldOut {
  bool models;
  std::size_t statistic;
};

template <class Form>
double held_out_of(const Form& form, HeldOut of) {
  const auto& e = form.error;
  if (!e || !(of.models ? e->models_median.has_value() && e->models_p90.has_value() : e->held_out)) {
    throw ExpressionError("the form's profile does not say how far it is off");
  }
  if (of.models) return of.statistic == 0 ? *e->models_median : *e->models_p90;
  return of.statistic == 0 ? e->median : e->p90;
}

/// held_out_error(GPU, operator, format, median | p90, shapes | models): of rows left out of a fit, as the calibrator
/// wrote it into the GPU's profile beside the form.
double held_out_error(const Question& q) {
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  const KernelProfile p = catalogue.profile(catalogue.gpu(q.arguments[0]).profile);
  const models::FittedForms& f = p.fitted;
  const NumberFormat format = kFormats[q.word(2, {"bf16", "fp8", "fp8_block", "nvfp4"})];
  const std::size_t statistic = q.word(3, {"median", "p90"});
  const HeldOut of{q.word(4, {"shapes", "models"}) == 1, statistic};
  const auto decode = [&](const std::vector<models::DecodeForm>& forms) {
    return held_out_of(needed(p, forms, &models::DecodeForm::kv, format, "decode attention"), of);
  };
  const auto tiled = [&](const std::vector<models::TiledForm>& forms) {
    return held_out_of(needed(p, forms, &models::TiledForm::kv, format, "prefill attention"), of);
  };
  switch (q.word(1, {"linear", "decode", "prefill", "mixed", "moe", "latent_decode", "latent_prefill"})) {
    case 0:
      return held_out_of(needed(p, f.linear, &models::LinearForm::weights, format, "linear layers"), of);
    case 1:
      return decode(f.decode_attention);
    case 2:
      return tiled(f.prefill_attention);
    case 3:
      return tiled(f.mixed_attention);
    case 4:
      return held_out_of(needed(p, f.moe, &models::MoeForm::weights, format, "routed experts"), of);
    case 5:
      return decode(f.latent_decode_attention);
    default:
      return tiled(f.latent_prefill_attention);
  }
}

/// collective_error(files, GPU, operation, library, its version or any, link, count | median | p90): of the |error| of
/// the rows by the tables of that link, every group size by its own; 1 where there are none.
double collective_error(const Question& q) {
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  const std::string& version = q.arguments[4];
  const models::LinkSpec link = catalogue.link(q.arguments[5]);
  std::vector<double> errors;
  for (const models::CollectiveSample& row : samples_of(q.measured, q.arguments[0]).collectives) {
    if (!models::names_gpu(row.from.gpu, q.arguments[1]) || models::word(row.operation) != q.arguments[2] ||
        row.library != q.arguments[3] || (version != "any" && row.from.version != version)) {
      continue;
    }
    const models::CollectiveTimes times(link, row.operation, row.library, row.gpus);
    errors.push_back(times.seconds(row.bytes) / row.seconds - 1);
  }
  return statistic_of(models::summarise(errors), q.word(6, statistics()));
}

/// Rows whose GPU none of the names (between blanks) means, by their GPU.
template <class Row>
void count_others(const std::vector<Row>& rows, const std::vector<std::string>& names,
                  std::map<std::string, std::size_t>& others) {
  for (const Row& row : rows) {
    const auto means = [&row](const std::string& name) { return models::names_gpu(row.from.gpu, name); };
    if (!row.from.gpu.empty() && std::none_of(names.begin(), names.end(), means)) ++others[row.from.gpu];
  }
}

/// other_rows(files, GPUs): rows of other GPUs than these, which no figure compares: 0, for where there are some they
/// are named in an error.
double other_rows(const Question& q) {
  const models::Samples& samples = samples_of(q.measured, q.arguments[0]);
  const std::vector<std::string> names = split(q.arguments[1], ' ');
  std::map<std::string, std::size_t> others;
  count_others(samples.linear, names, others);
  count_others(samples.decode, names, others);
  count_others(samples.prefill, names, others);
  if (others.empty()) return 0;
  std::string list;
  for (const auto& [gpu, count] : others) list += fmt::format("{}{} ({} rows)", list.empty() ? "" : ", ", gpu, count);
  throw ExpressionError(
      fmt::format("{}: no figure compares the rows of {}; expected one of {}", q.arguments[0], list, q.arguments[1]));
}

constexpr Probe kMeasuredProbes[] = {
    {"kernel_error", 6, false, kernel_error},         {"engine_error", 7, false, engine_error},
    {"block_error", 7, false, block_error},           {"held_out_error", 5, false, held_out_error},
    {"collective_error", 7, false, collective_error}, {"other_rows", 2, false, other_rows},
};

}  // namespace

std::span<const Probe> measured_probes() {
  return kMeasuredProbes;
}

}  // namespace kvsim::validation
