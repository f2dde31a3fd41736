#include "sim/reuse/prompt_assembly.h"

#include <algorithm>
#include <cmath>

#include "models/workload/distributions.h"
#include "sim/engine/random.h"

namespace kvsim::reuse {

using models::ReuseMethod;
using models::ScoredPrompt;

namespace {

constexpr double kCharactersPerToken = 4;  // of the model that answers, English text

}  // namespace

ChunkRowCounter::ChunkRowCounter(const models::ReuseSpec& spec, ScoredPrompts prompts, std::uint64_t seed)
    : spec_(spec), prompts_(std::move(prompts)), seed_(seed) {}

ChunkRows ChunkRowCounter::rows(std::uint64_t request, std::int64_t chunks, std::int64_t chunk_tokens) const {
  const std::int64_t tokens = chunks * chunk_tokens;
  switch (spec_.method) {
    case ReuseMethod::full_reuse:
      return {};
    case ReuseMethod::selective:
      return selected(request, tokens);
    case ReuseMethod::cacheblend: {
      // Wherever they deviate: all over the prompt.
      const std::int64_t count = models::selection_budget(spec_.rho, tokens);
      return {count, static_cast<double>(count) * static_cast<double>(tokens - 1) / 2};
    }
    case ReuseMethod::epic: {
      const std::int64_t each = std::min(spec_.link_tokens, chunk_tokens);
      const double first = static_cast<double>(each * (each - 1)) / 2;  // of the first chunk
      const double begins = static_cast<double>(chunk_tokens * (chunks * (chunks - 1) / 2));
      return {each * chunks, first * static_cast<double>(chunks) + begins * static_cast<double>(each)};
    }
  }
  return {};
}

/// Requests take the prompts that there are in turn.
ChunkRows ChunkRowCounter::selected(std::uint64_t request, std::int64_t tokens) const {
  const bool from_file = spec_.importance.source == models::ImportanceSource::file;
  const std::size_t signals = from_file ? prompts_->size() : static_cast<std::size_t>(spec_.importance.signals);
  const std::size_t signal = request % signals;
  const auto [at, fresh] = known_.try_emplace({signal, tokens});
  if (fresh) at->second = choose(from_file ? (*prompts_)[signal] : generated(signal, tokens), tokens);
  return at->second;
}

ScoredPrompt ChunkRowCounter::generated(std::size_t signal, std::int64_t tokens) const {
  const auto stream = [&](const char* name) {
    return models::RandomSourceOf<engine::RandomStream>(engine::RandomStream(seed_, name, signal));
  };
  const models::SpeculativeSpec& small = spec_.speculative;
  ScoredPrompt prompt;
  auto count = static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens) * small.tokens_ratio));
  if (small.own_tokenizer) {
    const auto characters = static_cast<std::int64_t>(kCharactersPerToken * static_cast<double>(tokens));
    auto of_target = stream("tokens"), of_small = stream("small model's tokens");
    prompt.target = models::generated_offsets(characters, kCharactersPerToken, of_target);
    prompt.offsets = models::generated_offsets(characters, kCharactersPerToken / small.tokens_ratio, of_small);
    count = static_cast<std::int64_t>(prompt.offsets.size());
  }
  auto importance = stream("importance");
  prompt.importance = models::generated_importance(count, spec_.importance.shape, importance);
  return prompt;
}

/// Rows chosen of the scored prompt, as a share of it, of a prompt of this length.
ChunkRows ChunkRowCounter::choose(const ScoredPrompt& prompt, std::int64_t tokens) const {
  std::vector<std::uint32_t> chosen = models::select_tokens(prompt.importance, spec_.rho, spec_.spans);
  std::size_t of = prompt.importance.size();
  if (!prompt.offsets.empty()) {
    chosen = models::aligned_tokens(chosen, prompt.offsets, prompt.target);
    of = prompt.target.size();
  }
  const double scale = static_cast<double>(tokens) / static_cast<double>(of);
  double positions = 0;
  for (const std::uint32_t token : chosen) {  // each stands for `scale` neighbours: their number times their mean place
    positions += scale * ((static_cast<double>(token) + 0.5) * scale - 0.5);
  }
  const auto count = std::min<std::int64_t>(std::llround(static_cast<double>(chosen.size()) * scale), tokens);
  return {count, positions};
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
