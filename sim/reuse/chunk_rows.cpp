#include "sim/reuse/chunk_rows.h"

#include <algorithm>
#include <cmath>

#include "models/workload/random_source.h"
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

/// What is chosen of the scored prompt, as a share of it, of a prompt of this length.
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

}  // namespace kvsim::reuse
