#include "tools/results/step_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/kernels/step_account.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"
#include "models/workload/distributions.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/simulation.h"
#include "sim/serving/step_parts.h"
#include "tools/results/documents.h"
#include "tools/results/provenance.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using models::StepOperator;

std::int64_t context_of(const scenario::Scenario& scenario, const StepQuestion& question) {
  if (question.context) return *question.context;
  if (scenario.workload.context)
    return std::max<std::int64_t>(1, std::llround(models::LengthSampler(*scenario.workload.context).mean()));
  throw schema::InputError("--context: the scenario does not say how long contexts are, expected their tokens");
}

/// One request's share of what the step does.
models::StepWork one_request(const serving::ServingConfig& config, const serving::DecodePolicy& decode,
                             std::int64_t context) {
  const serving::KvGeometry geometry = serving::configured_geometry(config, config.cluster.uniform());
  models::StepWork work;
  if (decode.reads_compressed) {
    const models::CompressorSpec& compressor = serving::own_drafts(config.decode).compressor;
    serving::add_draft(work, geometry, context, 0, 0,
                       serving::attention_time_factor(config, config.cluster.uniform(), compressor));
  } else {
    serving::add_decode(work, geometry, context);
  }
  return work;
}

std::int64_t requests_that_fit(const serving::ServingConfig& config, const serving::KvGeometry& geometry,
                               std::int64_t context) {
  const serving::KvCapacity capacity = serving::kv_capacity(config, config.cluster.uniform());
  if (config.model.grows_evenly()) return capacity.tokens / context;
  return capacity.bytes / geometry.full_reservation(context);
}

std::string share_text(double share) {
  return share > 0 ? percent(share) : "";
}

const Fields<models::FormError>& form_error_fields() {
  using E = models::FormError;
  static const Fields<E> fields{
      {"median", {kShare, kLower, "median of |predicted / measured - 1|"}, &E::median},
      {"p90", {kShare, kLower, "90th percentile of |predicted / measured - 1|"}, &E::p90},
      {"held_out",
       {kTruth, "of rows of shapes that the fit had not seen; else of those that it was made of"},
       &E::held_out}};
  return fields;
}

const Fields<StepOperator>& operator_fields() {
  using O = StepOperator;
  const auto error = [](const O& o) {
    return o.error ? fmt::format("{:.1f} / {:.1f} %", 100 * o.error->median, 100 * o.error->p90) : "";
  };
  static const Fields<O> fields{
      {"operator", {kText, "its name"}, "operator", &O::name, Align::left},
      {"seconds", {kSeconds, kLower, "its time in the step, on each GPU"}, "time", &O::seconds, seconds},
      {"share", {kShare, "of the step's time"}, "share", &O::share, percent},
      {"bytes",
       {kBytes, "moved between memory and the GPU's units, or of messages between GPUs"},
       "bytes",
       &O::bytes,
       [](const O& o) { return o.bytes > 0 ? bytes(o.bytes) : ""; }},
      {"memory_share",
       {kShare, "what its bytes take at the datasheet's bandwidth, of its time"},
       "of bandwidth",
       &O::memory_share,
       [](const O& o) { return share_text(o.memory_share); }},
      {"flops",
       {kPlain, "arithmetic on the GPU's matrix units"},
       "GFLOP",
       &O::flops,
       [](const O& o) { return o.flops > 0 ? figure(o.flops / 1e9) : ""; }},
      {"flops_share",
       {kShare, "what its arithmetic takes at the datasheet's rate, of its time"},
       "of arithmetic",
       &O::flops_share,
       [](const O& o) { return share_text(o.flops_share); }},
      {"bound_by",
       {kText,
        "memory or arithmetic, by which of the two twice as much saves more of its time, as in bound_by of the step; "
        "neither: both together decide less than a half of it; collectives, launches, host or fixed times, as there"},
       "bound by",
       &O::binds,
       Align::left},
      {"from", {kText, "table, form or roofline; estimate, constant or none"}, "from", &O::from, Align::left},
      Field<O>::part("error", "how far its form is off rows of the machine it was fitted to", &O::error,
                     form_error_fields(),
                     "not from a form that was fitted on this machine, or one whose error is not known"),
      {kOnPages, "error", error, error},
      {"source",
       {kText, "kind of the source of its figures"},
       [](const O& o) { return std::string(source_word(o.source.kind)); }},
      {"reference", {kText, "what they were taken from"}, [](const O& o) { return o.source.reference; }}};
  return fields;
}

const Fields<StepReport>& step_fields() {
  using R = StepReport;
  using F = Field<R>;
  static const Fields<R> fields{
      {"model", {kText, "name of the model"}, &R::model},
      {"gpu", {kText, "name of the GPU"}, &R::gpu},
      {"gpus", {kCount, "that share the model"}, &R::gpus},
      {"profile", {kText, "name of the kernel profile"}, &R::profile},
      {"requests", {kRequests, "that decode or draft"}, &R::requests},
      {"context_tokens", {kTokens, "KV of each"}, &R::context},
      {"verifying", {kRequests, "further ones that verify"}, &R::verifying},
      {"chunk_tokens", {kTokens, "of a prompt beside them"}, &R::chunk},
      {"seconds", {kSeconds, kLower, "time of the step: the sum of its operators, in their order"}, &R::seconds},
      F::list("operators", "what the step consists of", &R::operators, operator_fields()),
      F::part("bound_by", "what decides the step's time; the shares add up to 1", &R::bound_by, time_share_fields()),
      F::part("twice", "what twice of each would bring: steps a second over those as it is, less 1", &R::bound_by,
              time_gain_fields()),
      {"launched_kernel_by_kernel",
       {kTruth, "whether it has more tokens than captured steps have, which takes time to launch"},
       &R::launched_for_size},
      F::values("fallbacks[]", {kText, "a figure that had to be replaced, in words"}, &R::fallbacks)};
  return fields;
}

}  // namespace

StepReport step_report(const scenario::Scenario& scenario, const StepQuestion& question) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::DecodePolicy decode = serving::configured_policy(c);
  if (decode.fetches()) {
    throw schema::InputError(fmt::format(
        "decode.policy: steps of {} wait for KV that they fetch, which a step of the GPU alone does not show; "
        "`kvsim plan` takes them apart",
        c.decode.policy));
  }
  const serving::KvGeometry geometry = serving::configured_geometry(c, c.cluster.uniform());
  const std::int64_t context = context_of(scenario, question);
  const std::int64_t fit = std::max<std::int64_t>(1, requests_that_fit(c, geometry, context));
  const std::int64_t batch = question.batch.value_or(std::min(c.schedule.max_requests, fit));

  models::StepWork work = one_request(c, decode, context);
  work.decode *= static_cast<double>(batch);
  work.logit_tokens *= static_cast<double>(batch);
  work.sampled *= static_cast<double>(batch);
  for (std::int64_t i = 0; i < question.verifying; ++i) {
    serving::add_verification(work, geometry, context, c.decode.draft_length);
  }
  if (question.chunk > 0) serving::add_chunk(work, geometry, 0, question.chunk, false);

  const serving::GroupConfig& machine = c.cluster.uniform();
  StepReport report;
  report.model = c.model.name;
  report.gpu = machine.gpu.name;
  report.gpus = machine.parallel.gpus();
  report.profile = machine.profile.name;
  report.requests = batch;
  report.context = context;
  report.verifying = question.verifying;
  report.chunk = question.chunk;
  report.operators = models::step_operators(machine.gpu, serving::interconnect(c.cluster, machine), machine.profile,
                                            c.model, machine.parallel, work);
  for (const StepOperator& o : report.operators) report.seconds += o.seconds;
  const models::StepTimer timer = serving::step_timer(c, machine, machine.parallel);
  report.fallbacks = timer.fallbacks();
  report.bound_by = serving::bottleneck(models::StepAccounts(timer).of(work));
  report.launched_for_size = timer.launched_for_size(work);
  report.what = fmt::format("{} {}{} over {} of KV each", counted(batch, "request"),
                            decode.verifies ? "draft" : "decode", batch == 1 ? "s" : "", counted(context, "token"));
  if (decode.reads_compressed) {
    const serving::DecodeConfig drafts = serving::own_drafts(c.decode);
    report.what += fmt::format(", compressed to {}",
                               drafts.budget ? counted(*drafts.budget, "token")
                                             : percent(serving::effective_ratio(drafts.compressor, drafts.keep_ratio)));
  }
  if (question.verifying > 0) {
    report.what += fmt::format("; {} {} {}", whole(question.verifying), question.verifying == 1 ? "verifies" : "verify",
                               counted(c.decode.draft_length, "token"));
  }
  if (question.chunk > 0) report.what += fmt::format("; {} of a prompt", counted(question.chunk, "token"));
  if (decode.drafter) report.what += "; the drafter's own passes are left out";
  return report;
}

Page step_page(const StepReport& report) {
  Page page;
  page.title =
      fmt::format("One step of {} on {} x {}: {}", report.model, report.gpus, report.gpu, seconds(report.seconds));
  const auto any = [&report](const auto& holds) {
    return std::any_of(report.operators.begin(), report.operators.end(), holds);
  };
  page.subtitle = {report.what + ".",
                   "Bytes and FLOPs are of one GPU; shares are of the datasheet's peaks in the operator's own time."};
  if (any([](const StepOperator& o) { return o.binds == "neither"; })) {
    page.subtitle.push_back(
        "Bound by neither: twice the memory bandwidth and twice the arithmetic together would save less than a quarter "
        "of its time; the rest is starting and ending the kernel, and waiting for the slowest part of it.");
  }
  if (any([](const StepOperator& o) { return o.binds == "arithmetic" && o.flops_share < o.memory_share; })) {
    page.subtitle.emplace_back(
        "Bound by arithmetic that GFLOP does not count: kernels compute whole tiles of tokens, which few tokens leave "
        "empty for the most part. Twice the arithmetic would save more of their time than twice the bandwidth.");
  }
  if (any([](const StepOperator& o) { return o.error.has_value(); })) {
    page.subtitle.push_back(
        "Errors of forms are the median and the 90th percentile of |predicted / measured - 1| on the machine's rows.");
  }
  if (report.launched_for_size) {
    page.subtitle.emplace_back("It has more tokens than captured steps have: every kernel is launched by itself.");
  }
  Table binds{"What decides the step's time", {"", "share", "twice it"}, {Align::left, Align::right, Align::right}, {}};
  for (const serving::TimePartName& name : serving::kTimeParts) {
    const serving::TimePart& part = report.bound_by.*name.part;
    constexpr double kShown = 0.0005;  // less would be printed as nothing
    if (!(part.share >= kShown)) continue;
    binds.rows.push_back({std::string(name.name), percent(part.share), name.more.empty() ? "" : gain_text(part.gain)});
  }
  page.tables = {table_of("Operators", operator_fields(), report.operators), std::move(binds)};
  List sources{"Where the times come from", {}};
  for (const StepOperator& o : report.operators) {
    if (!o.source.reference.empty()) sources.items.push_back(fmt::format("{}: {}", o.name, o.source.reference));
  }
  page.lists = {sources, {"Fall-backs", report.fallbacks}};
  return page;
}

Json step_json(const StepReport& report) {
  return document(step_fields(), report);
}

KeyList step_keys() {
  return document_keys(keys_of(step_fields()));
}

}  // namespace kvsim::results
