#include "planner/paths/node_steps.h"

#include <cmath>

#include "planner/plan/average_iteration.h"

namespace kvsim::planner {

NodeSteps::NodeSteps(const serving::ServingConfig& config, const serving::KvGeometry& geometry, const Traffic& traffic)
    : config_(config),
      geometry_(geometry),
      prompt_(std::llround(traffic.mean_context)),
      generated_(std::llround(traffic.mean_generated)),
      timer_(config.cluster.gpu, config.cluster.peer_link, config.cluster.profile, config.model,
             config.cluster.tensor_parallel) {}

double NodeSteps::seconds(double decoding, double drafting, double verifying) const {
  const Requests full{prompt_, generated_, nullptr, false, config_.decode.draft_length};
  models::StepWork work = average_work(geometry_, config_, full, decoding, verifying);
  const models::CompressorSpec& compressor = config_.decode.compressor;
  // Kept tokens are read by the compressor's kernel; quantised ones have been decompressed on arrival.
  const double factor =
      compressor.kind == models::CompressionKind::token_dropping ? compressor.attention_time_factor.value : 1.0;
  const double drafted = static_cast<double>(config_.decode.draft_length - 1) / 2;
  const double kept = resident_tokens(compressor, geometry_, prompt_);
  const double whole = static_cast<double>(generated_) + drafted;
  work.decode.query_tokens += drafting;
  work.decode.requests += drafting;
  work.decode.kv_bytes += drafting * (kept * factor + whole) * geometry_.full_read(1);
  work.decode.pairs += drafting * (kept + whole);
  work.logit_tokens += drafting;
  return timer_.time(work).total_s;
}

double resident_tokens(const models::CompressorSpec& compressor, const serving::KvGeometry& geometry,
                       std::int64_t prompt) {
  return compressor.kind == models::CompressionKind::token_dropping ? geometry.attended_compressed(prompt, 0)
                                                                    : static_cast<double>(prompt);
}

}  // namespace kvsim::planner
