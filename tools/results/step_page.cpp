#include "tools/results/step_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/kernels/step_operators.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"
#include "models/workload/distributions.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/simulation.h"
#include "sim/serving/step_parts.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

std::int64_t context_of(const scenario::Scenario& scenario, const StepQuestion& question) {
  if (question.context) return *question.context;
  if (scenario.workload.context)
    return std::max<std::int64_t>(1, std::llround(models::LengthSampler(*scenario.workload.context).mean()));
  throw schema::InputError("--context: the scenario does not say how long contexts are, expected their tokens");
}

/// One request's share of what the step does.
models::StepWork one_request(const serving::ServingConfig& config, const serving::DecodePolicy& decode,
                             std::int64_t context) {
  const serving::KvGeometry geometry = serving::configured_geometry(config);
  models::StepWork work;
  if (decode.reads_compressed) {
    const models::CompressorSpec& compressor = serving::own_drafts(config.decode).compressor;
    serving::add_draft(work, geometry, context, 0, 0, serving::attention_time_factor(config, compressor));
  } else {
    serving::add_decode(work, geometry, context);
  }
  return work;
}

void multiply(models::AttentionWork& work, double requests) {
  work.query_tokens *= requests;
  work.kv_bytes *= requests;
  work.pairs *= requests;
  work.requests *= requests;
}

std::string share_text(double share) {
  return share > 0 ? percent(share) : "";
}

}  // namespace

page::Page step_page(const scenario::Scenario& scenario, const StepQuestion& question) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::DecodePolicy decode = serving::configured_policy(c);
  if (decode.fetches()) {
    throw schema::InputError(fmt::format(
        "decode.policy: steps of {} wait for KV that they fetch, which a step of the GPU alone does not show; "
        "`kvsim plan` takes them apart",
        c.decode.policy));
  }
  const serving::KvGeometry geometry = serving::configured_geometry(c);
  const std::int64_t context = context_of(scenario, question);
  const std::int64_t fit = std::max<std::int64_t>(1, serving::kv_capacity(c).tokens / context);
  const std::int64_t batch = question.batch.value_or(std::min(c.schedule.max_requests, fit));

  models::StepWork work = one_request(c, decode, context);
  multiply(work.decode, static_cast<double>(batch));
  work.logit_tokens *= static_cast<double>(batch);
  work.sampled *= static_cast<double>(batch);
  for (std::int64_t i = 0; i < question.verifying; ++i) {
    serving::add_verification(work, geometry, context, c.decode.draft_length);
  }
  if (question.chunk > 0) serving::add_chunk(work, geometry, 0, question.chunk, false);

  const serving::ClusterConfig& machine = c.cluster;
  const std::vector<models::StepOperator> operators =
      models::step_operators(machine.gpu, machine.peer_link, machine.profile, c.model, machine.parallel, work);
  double total_s = 0;
  for (const models::StepOperator& o : operators) total_s += o.seconds;

  page::Page page;
  page.title = fmt::format("One step of {} on {} x {}: {}", c.model.name, machine.parallel.gpus(), machine.gpu.name,
                           seconds(total_s));
  std::string what = fmt::format("{} requests {} over {} of KV each", whole(batch),
                                 decode.verifies ? "draft" : "decode", fmt::format("{} tokens", whole(context)));
  if (decode.reads_compressed) {
    const serving::DecodeConfig drafts = serving::own_drafts(c.decode);
    what += fmt::format(", compressed to {}", percent(serving::effective_ratio(drafts.compressor, drafts.keep_ratio)));
  }
  if (question.verifying > 0) {
    what += fmt::format("; {} verify {} tokens", whole(question.verifying), whole(c.decode.draft_length));
  }
  if (question.chunk > 0) what += fmt::format("; {} tokens of a prompt", whole(question.chunk));
  if (decode.drafter) what += "; the drafter's own passes are left out";
  page.subtitle = {what + ".",
                   "Bytes and FLOPs are of one GPU; shares are of the datasheet's peaks in the operator's own time."};
  page::Table t = page::table("Operators", {{"operator"},
                                            {"time", true},
                                            {"share", true},
                                            {"bytes", true},
                                            {"of bandwidth", true},
                                            {"GFLOP", true},
                                            {"of arithmetic", true},
                                            {"bound by"},
                                            {"from"}});
  page::List sources{"Where the times come from", {}};
  for (const models::StepOperator& o : operators) {
    t.rows.push_back({o.name, seconds(o.seconds), percent(total_s > 0 ? o.seconds / total_s : 0),
                      o.bytes > 0 ? bytes(o.bytes) : "", share_text(o.memory_share),
                      o.flops > 0 ? figure(o.flops / 1e9) : "", share_text(o.flops_share), o.binds, o.from});
    if (!o.source.reference.empty()) sources.items.push_back(fmt::format("{}: {}", o.name, o.source.reference));
  }
  page.tables.push_back(std::move(t));
  page.lists.push_back(std::move(sources));
  const models::StepTimer timer(machine.gpu, machine.peer_link, machine.profile, c.model, machine.parallel);
  page.lists.push_back({"Fall-backs", timer.fallbacks()});
  return page;
}

}  // namespace kvsim::results
