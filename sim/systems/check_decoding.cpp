// Checks of what decoding needs: drafters, draft lengths, compressors, fetched KV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/draft_table.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_geometry.h"
#include "sim/systems/checks.h"

namespace kvsim::systems {
namespace {

using models::CompressionMode;
using serving::ConfigurationError;
using serving::DecodePolicy;
using serving::DrafterConfig;
using serving::DraftLengthConfig;
using serving::DraftTableRow;
using serving::Fetch;
using serving::PrefillKind;
using serving::ServingConfig;
using serving::UnsuitableMachine;

/// Where a configuration says what drafts read.
std::string selection_key(const ServingConfig& config, const DecodePolicy& decode) {
  const bool own = decode.keeps_full && config.decode.sparse && config.decode.sparse->selection;
  return own ? "decode.sparse.selection" : "decode.compressor";
}

/// Drafts that read a part of a KV which stays whole.
void check_sparse(const ServingConfig& config, const DecodePolicy& decode) {
  const models::CompressorSpec& c = config.decode.compressor;
  if (!decode.keeps_full) {
    if (decode.reads_compressed && c.reads_only) {
      throw ConfigurationError("decode.compressor",
                               fmt::format("{} chooses anew what to read out of the whole KV, and {} keeps a smaller "
                                           "one: use sparse_self, or a compressor",
                                           c.name, decode.name));
    }
    return;
  }
  if (c.kind != models::CompressionKind::token_dropping) {
    throw ConfigurationError(selection_key(config, decode),
                             fmt::format("decode policy {} reads some tokens of the full KV, and {} quantises all: "
                                         "use one that drops tokens, or draft_verify with decode.resident",
                                         decode.name, c.name));
  }
}

void check_budget(const ServingConfig& config, const models::CompressorSpec& c) {
  if (!config.decode.budget) return;
  if (c.kind != models::CompressionKind::token_dropping) {
    throw ConfigurationError("decode.budget",
                             fmt::format("{} narrows elements, and a budget is of whole tokens: use decode.keep_ratio, "
                                         "or a compressor that only drops tokens",
                                         c.name));
  }
  if (config.cluster.pools) {
    throw ConfigurationError("decode.budget", "pools plan with the share that is kept: use decode.keep_ratio");
  }
}

void check_compressor(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.reads_compressed || drafts_as_found(config, decode)) return;
  const models::CompressorSpec& c = config.decode.compressor;
  if (c.name.empty()) {
    throw ConfigurationError("decode",
                             decode.keeps_full
                                 ? fmt::format("decode policy {} needs something that chooses what drafts read: give "
                                               "decode.sparse.selection (such as pillar-attention), or a compressor",
                                               decode.name)
                                 : fmt::format("decode policy {} needs a compressor{}", decode.name,
                                               config.chunks ? " (prompts that are computed whole have nothing else to "
                                                               "verify: use full_kv)"
                                                             : ""));
  }
  if (!config.cluster.pools && !c.long_context) {
    throw ConfigurationError(selection_key(config, decode),
                             fmt::format("compressor {} cannot be used for decoding on one replica", c.name));
  }
  if (!config.cluster.pools && !decode.keeps_full && c.mode == CompressionMode::offline &&
      config.prefill != PrefillKind::stored) {
    throw ConfigurationError(
        "decode.compressor",
        fmt::format("compressor {} works offline, before a request arrives: use prefill {{policy: stored}}, or a "
                    "compressor whose mode is online",
                    c.name));
  }
  if (c.kind != models::CompressionKind::token_dropping && config.model.kv_bytes_per_element != 2.0) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("compressor {} quantises 16-bit KV, and {} has {:g} bytes per KV element",
                                         c.name, config.model.name, config.model.kv_bytes_per_element));
  }
  check_budget(config, c);
  const double ratio =
      config.decode.budget
          ? std::min(1.0, static_cast<double>(*config.decode.budget) / static_cast<double>(config.model.max_context))
          : serving::effective_ratio(c, config.decode.keep_ratio);
  if (decode.verifies && config.decode.acceptance.kind == models::AcceptanceKind::compressor &&
      !(c.agreement_at(ratio) > 0)) {
    throw ConfigurationError(
        selection_key(config, decode),
        fmt::format("compressor {} has no acceptance figures: give decode.acceptance explicitly", c.name));
  }
}

/// Checks what policies with an auxiliary drafter need of it.
void check_drafter(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.drafter) return;
  if (!config.decode.drafter) {
    throw ConfigurationError("decode.drafter", fmt::format("decode policy {} needs an auxiliary drafter: give "
                                                           "decode.drafter (kvsim list drafters)",
                                                           decode.name));
  }
  const DrafterConfig& drafter = *config.decode.drafter;
  const bool apart = drafter.spec.kind == models::DrafterKind::model;
  if (!apart && !drafter.spec.drafts_for(config.model.name)) {
    throw ConfigurationError(
        "decode.drafter.type",
        fmt::format("{} reads the hidden states of {}, and the model is {}: use a drafter that "
                    "was trained for it, or a small model",
                    drafter.spec.name, fmt::join(drafter.spec.targets, " or "), config.model.name));
  }
  if (apart && drafter.spec.network.vocabulary != config.model.vocabulary) {
    throw ConfigurationError(
        "decode.drafter.type",
        fmt::format("{} has a vocabulary of {} tokens, {} one of {}: its tokens mean nothing to the model",
                    drafter.spec.name, drafter.spec.network.vocabulary, config.model.name, config.model.vocabulary));
  }
  for (const serving::GroupConfig& group : config.cluster.groups) {
    if (drafter.spec.network.heads % group.parallel.tensor == 0) continue;
    throw UnsuitableMachine("decode.drafter.type",
                            fmt::format("{} attention heads of {} cannot be sharded evenly over {} GPUs",
                                        drafter.spec.network.heads, drafter.spec.name, group.parallel.tensor));
  }
  if (drafter.tree && !decode.drafts_in_steps()) {
    throw ConfigurationError("decode.drafter.tree",
                             fmt::format("how decode policy {} goes on from a tree is not known: use decode policy "
                                         "drafter or lossy+drafter, or a chain",
                                         decode.name));
  }
  if (drafter.tree && config.decode.draft_lengths.policy != "fixed") {
    throw ConfigurationError("decode.drafter.tree",
                             "draft lengths are chosen of chains: use decode.draft_lengths.policy fixed, or a chain");
  }
  const std::int64_t queries = drafter.verified(most_proposed(config.decode, decode)) + 1;
  if (config.schedule.max_batched_tokens < queries) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("one request's step takes {} tokens with those of its drafter", queries));
  }
}

/// A round without drafts is an ordinary step, which only policies have whose every step gives final tokens.
void check_draft_lengths(const ServingConfig& config, const DecodePolicy& decode) {
  const DraftLengthConfig& lengths = config.decode.draft_lengths;
  if (lengths.policy == "goodput" && drafts_as_found(config, decode)) {
    throw ConfigurationError("decode.draft_lengths.policy",
                             "goodput predicts rounds that reload from host memory, and here drafts end when a whole "
                             "prompt is there: use fixed or adaptive");
  }
  if (!decode.verifies) return;
  const std::int64_t longest = longest_draft(config.decode), limit = config.decode.draft_limit;
  if (limit > 0 && limit < longest) {
    throw ConfigurationError("decode.draft_limit",
                             fmt::format("{} is below the {} tokens that are drafted before anything is late: expected "
                                         "{} or more, 0 for twice as many, or strict for no more",
                                         limit, longest, longest));
  }
  const std::vector<DraftTableRow>& rows = lengths.own.of<serving::DraftTableKeys>().rows;
  const bool none = lengths.policy == "table" && std::any_of(rows.begin(), rows.end(), [](const DraftTableRow& row) {
                      return row.draft_length == 0;
                    });
  if (lengths.minimum > 0 && !none) return;
  throw ConfigurationError(
      none ? "decode.draft_lengths.table" : "decode.draft_lengths.minimum",
      fmt::format("decode policy {} drafts in every round: at least 1 (0 has a meaning where an auxiliary drafter "
                  "proposes tokens for every step)",
                  decode.name));
}

/// Checks what policies with a low-bit copy, or that fetch KV, need.
void check_fetching(const ServingConfig& config, const DecodePolicy& decode) {
  const models::PrefetchSpec& spec = config.decode.prefetch;
  if (decode.low_bit_copy && config.decode.compressor.kind != models::CompressionKind::quantisation) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("decode policy {} keeps a copy of few bits on the GPU, and {} does not "
                                         "quantise: use a quantiser, for example specache-2bit",
                                         decode.name, config.decode.compressor.name));
  }
  if (decode.fetch == Fetch::none) return;
  if (!config.cluster.pools && config.cluster.host_link_discipline != transport::Queueing::serialised) {
    throw ConfigurationError(
        "cluster.host.discipline",
        fmt::format("decode policy {} copies layer after layer, in order: use serialised", decode.name));
  }
  const std::int64_t queries = decode.fetch == Fetch::speculative ? spec.query_tokens + 1 : 1;
  if (config.schedule.max_batched_tokens < queries) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("one request decodes {} tokens a step", queries));
  }
  if (decode.fetch == Fetch::everything && spec.buffered_layers >= config.model.layers) {
    throw ConfigurationError(
        "decode.prefetch.buffered_layers",
        fmt::format("{} has {} layers, and the GPU would hold all of their KV: use full_kv, or fewer",
                    config.model.name, config.model.layers));
  }
  if (!decode.fetches_pairs()) return;
  if (spec.row_tokens > config.model.max_context) {
    throw ConfigurationError(
        "decode.prefetch.row_tokens",
        fmt::format("a row of {} tokens is longer than any context of {}", spec.row_tokens, config.model.name));
  }
  if (config.model.attention != models::AttentionKind::gqa) {
    throw ConfigurationError("model", fmt::format("decode policy {} fetches keys and values of KV "
                                                  "heads, and {} keeps one latent a token",
                                                  decode.name, config.model.name));
  }
  const serving::Topology topology = config.cluster.topology();
  for (const auto& [group, way] : topology.instances) {
    if (group.count == 0) continue;
    const auto& [link, key, figure] = way;
    const models::LayerFetch fetch =
        models::layer_fetch(spec, config.model, group.parallel.tensor, config.model.max_context);
    if (models::find_gather(link, spec.copies, fetch.row_bytes) != nullptr) continue;
    std::string known;
    for (const models::GatherMethod& method : link.gathers) known += (known.empty() ? "" : ", ") + method.name;
    throw UnsuitableMachine(known.empty() ? fmt::format("{}.gathers", key) : "decode.prefetch.copies",
                            known.empty()
                                ? fmt::format("link {} has no figures for copying scattered rows: give them", link.name)
                                : fmt::format("link {} has no figures for \"{}\", expected best or one of {}",
                                              link.name, spec.copies, known));
  }
}

}  // namespace

void check_decoding(const ServingConfig& config, const DecodePolicy& decode) {
  check_compressor(config, decode);
  check_sparse(config, decode);
  check_drafter(config, decode);
  check_draft_lengths(config, decode);
  check_fetching(config, decode);
}

}  // namespace kvsim::systems
