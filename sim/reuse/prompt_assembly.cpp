#include "sim/reuse/prompt_assembly.h"

#include <algorithm>

namespace kvsim::reuse {

using models::ReuseMethod;

bool chooses_tokens(const models::ReuseSpec& spec) {
  return spec.method == ReuseMethod::selective && spec.rho > 0 && spec.rho < 1;
}

double computed_share(const models::ReuseSpec& spec, std::int64_t chunk_tokens) {
  switch (spec.method) {
    case ReuseMethod::full_reuse:
      return 0;
    case ReuseMethod::epic:
      return std::min(static_cast<double>(spec.link_tokens) / static_cast<double>(chunk_tokens), 1.0);
    case ReuseMethod::selective:
    case ReuseMethod::cacheblend:
      break;
  }
  return spec.rho;
}

double relative_score(const serving::ServingConfig& config, const models::RagTask& task, std::int64_t chunks) {
  if (!config.reuse || chunks <= 1) return 1;  // one chunk lacks nothing of others
  const models::ReuseSpec& spec = *config.reuse;
  const double share = computed_share(spec, config.chunks->tokens);
  return share >= 1 ? 1 : models::relative_score(task, spec.method, share, models::completes_spans(spec.spans));
}

double mean_relative_score(const serving::ServingConfig& config, std::int64_t chunks) {
  if (config.tasks.empty()) return 1;
  double sum = 0;
  for (const models::RagTask& task : config.tasks) sum += relative_score(config, task, chunks);
  return sum / static_cast<double>(config.tasks.size());
}

double first_layer_of(const models::ReuseSpec& spec, const ReuseTimes& times, const ChunkPrompt& p) {
  if (spec.method != ReuseMethod::cacheblend) return 0;
  const std::int64_t rows = p.rows.count + p.prompt - p.chunks * p.chunk_tokens;
  return times.first_layer_s(p.prompt, rows, static_cast<double>(p.prompt - rows));
}

serving::PromptAssembly assembly_of(const models::ReuseSpec& spec, const ReuseTimes& times, const ChunkPrompt& p) {
  const std::int64_t chunk_tokens = p.chunks * p.chunk_tokens;
  serving::PromptAssembly a;
  a.apart = chunk_tokens - p.stored;
  a.apart_unit = p.chunk_tokens;
  a.selects = chooses_tokens(spec);
  if (a.selects && spec.speculative.gpus == 0) {
    a.scored_here = times.small_tokens(p.prompt);
    a.scoring_bytes = times.scoring_bytes(p.prompt);
    a.align_s = times.align_s(p.prompt);
  }
  const std::int64_t others = p.target - chunk_tokens;
  const auto n = static_cast<double>(others);
  a.rows = p.rows.count + others;
  const double positions = p.rows.positions + n * static_cast<double>(chunk_tokens) + n * (n - 1) / 2;
  const double kept = static_cast<double>(p.target - p.dropped) / static_cast<double>(p.target);
  a.before = rows_before(spec.attention, p.target, a.rows, positions) * kept;
  a.recover_s = times.recover_s(p.moved);
  a.first_layer_s = p.first_layer_s;
  return a;
}

}  // namespace kvsim::reuse
