#include "sim/scenario/schemas.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/llm/llm_spec.h"
#include "models/schemas.h"
#include "models/workload/trace_reader.h"

namespace kvsim::scenario {
namespace {

using models::ImportanceSignals;
using models::SpanRules;
using serving::PrefillKind;

constexpr const char* kSmallModel = "llama-3.2-1b";
constexpr std::array<const char*, 3> kTasks{"samsum", "musique", "hotpotqa"};

constexpr std::array<const char*, 7> kChunkKeys{"prefill.rho",   "prefill.link_tokens", "prefill.attention",
                                                "prefill.spans", "prefill.speculative", "prefill.importance",
                                                "workload.tasks"};

ObjectSchema<SpanRules> spans_schema() {
  using S = SpanRules;
  ObjectSchema<S> s("spans", "Neighbours of similar importance that are computed again together, or not at all.");
  s.optional("enabled", &S::enabled, boolean(), "off: the most important tokens, each by itself");
  s.optional("variation", &S::variation, number().non_negative(),
             "neighbours belong to one span while their importances differ by less than this share of the first");
  s.optional("longest", &S::longest, tokens().at_least(1).at_most(65536), "longest span");
  s.optional("majority", &S::majority, number().above(0).at_most(1),
             "a span is completed when at least this share of it was selected");
  s.optional("cap", &S::cap,
             choice<models::SpanCap>({{"spans", models::SpanCap::spans, "whole spans, by mean importance"},
                                      {"tokens", models::SpanCap::tokens,
                                       "single tokens, by importance: undoes what was completed where budget is 1"}}),
             "what the budget is spent on where completed spans exceed it");
  s.optional("budget", &S::budget, number().at_least(1).at_most(1000),
             "tokens computed again at most / those that rho selects before spans are completed; scores are taken as "
             "those at rho all the same");
  return s;
}

ObjectSchema<Written> speculative_schema() {
  ObjectSchema<Written> s("speculative", "The small model that says which tokens matter, and where it runs.");
  s.reference("model", KVSIM_MEMBER(reuse.speculative.model), "model", models::llm_schema(), Presence::optional,
              "which model; left out: llama-3.2-1b");
  s.optional("gpus", KVSIM_MEMBER(reuse.speculative.gpus), integer().non_negative().at_most(1000),
             "GPUs of its own for each replica, of the same kind, one prompt at a "
             "time on each; 0: it shares the replica's");
  s.optional("tokens_ratio", KVSIM_MEMBER(reuse.speculative.tokens_ratio), number().at_least(0.1).at_most(10),
             "tokens of its tokenizer for one of the model's");
  s.optional("own_tokenizer", KVSIM_MEMBER(reuse.speculative.own_tokenizer), boolean(),
             "its tokens end elsewhere: what is selected is aligned by characters, and covers more");
  s.optional("align_time", KVSIM_MEMBER(reuse.speculative.align_s_per_token), time().non_negative(),
             "CPU time per prompt token to find spans and align them");
  s.check([](const Written& x, const Reporter& report) {
    const models::SpeculativeSpec& small = x.reuse.speculative;
    if (small.tokens_ratio != 1 && !small.own_tokenizer) {
      report.fail("tokens_ratio", "belongs to a tokenizer of its own: add own_tokenizer: true, or remove this key");
    }
  });
  return s;
}

ObjectSchema<ImportanceSignals> importance_schema() {
  using I = ImportanceSignals;
  ObjectSchema<I> s("importance", "How important the small model holds each token to be.");
  s.optional(
      "source", &I::source,
      choice<models::ImportanceSource>(
          {{"generated", models::ImportanceSource::generated, "log-normal, the logarithms of neighbours correlated"},
           {"file", models::ImportanceSource::file, "prompts of a JSON Lines file, in turn"}}),
      "where importances come from");
  s.optional("correlation", KVSIM_MEMBER(shape.correlation), number().non_negative().below(1),
             "generated: of the logarithms of neighbours");
  s.optional("cv", KVSIM_MEMBER(shape.cv), number().at_least(1e-3).at_most(100),
             "generated: standard deviation / mean");
  s.optional("signals", &I::signals, integer().at_least(1).at_most(1e6),
             "generated: different prompts, which requests take in turn");
  s.optional("path", &I::path, text(), "file: objects with importance, offsets, target_offsets, one a line");
  s.unread({"path"}, [](const I& i) {
    return i.source == models::ImportanceSource::file ? "" : "importances are generated: use source: file";
  });
  s.unread({"correlation", "cv", "signals"}, [](const I& i) {
    return i.source == models::ImportanceSource::generated ? "" : "a file has the importances: use source: generated";
  });
  s.check([](const I& i, const Reporter& report) {
    const bool file = i.source == models::ImportanceSource::file;
    if (file && i.path.empty()) report.fail("", "missing key \"path\", which source: file needs");
  });
  return s;
}

bool asks_for_chunks(const Scenario& s) {
  return serving::reuses_chunks(s.serving.prefill);
}

models::ReuseMethod method_of(PrefillKind prefill) {
  switch (prefill) {
    case PrefillKind::selective:
      return models::ReuseMethod::selective;
    case PrefillKind::cacheblend:
      return models::ReuseMethod::cacheblend;
    case PrefillKind::epic:
      return models::ReuseMethod::epic;
    default:
      return models::ReuseMethod::full_reuse;
  }
}

}  // namespace

ObjectSchema<Written> prefill_schema() {
  ObjectSchema<Written> s("prefill", "How a prompt's KV comes to exist on the GPU.");
  s.shorthand("policy");
  s.optional(
      "policy", KVSIM_MEMBER(serving.prefill),
      choice<PrefillKind>(
          {{"recompute", PrefillKind::recompute, "prefilled here, in chunks between decodes"},
           {"full_recompute", PrefillKind::recompute, "the same, as it is called beside the reuse of chunks"},
           {"stored", PrefillKind::stored,
            "computed before and loaded from host memory, or from the storage node of pools"},
           {"prefix_cache", PrefillKind::prefix_cache,
            "what earlier requests left, in the tiers of placement or on the storage node of pools, is "
            "loaded, the rest prefilled and stored there"},
           {"full_reuse", PrefillKind::full_reuse,
            "chunks in the tiers of placement are loaded wherever they stand, missing ones computed alone and stored; "
            "what follows them is prefilled"},
           {"selective", PrefillKind::selective,
            "full_reuse, with the tokens computed again over the whole prompt that a small model chooses (SpecCache)"},
           {"cacheblend", PrefillKind::cacheblend,
            "full_reuse, with those tokens computed again that deviate most in the first layer, which is computed "
            "whole (CacheBlend)"},
           {"epic", PrefillKind::epic, "full_reuse, with the first tokens of every chunk computed again (EPIC)"}}),
      "prefill policy");
  s.optional("rho", KVSIM_MEMBER(reuse.rho), number().at_least(0).at_most(1).because("it is a share of the tokens"),
             "tokens of chunks computed again / tokens of chunks (selective, cacheblend)");
  s.optional("link_tokens", KVSIM_MEMBER(reuse.link_tokens), tokens().non_negative(),
             "first tokens of every chunk that are computed again (epic)");
  s.optional("attention", KVSIM_MEMBER(reuse.attention),
             choice<models::RowAttention>(
                 {{"whole", models::RowAttention::whole, "the whole prompt, what comes later being masked"},
                  {"causal", models::RowAttention::causal, "what comes before it, the rest being passed over"}}),
             "what a token that is computed again takes the time to attend to");
  s.object("spans", KVSIM_MEMBER(reuse.spans), spans_schema(), Presence::optional, "selective: whole spans of tokens");
  s.object("speculative", kItself, speculative_schema(), Presence::optional, "selective: who selects");
  s.object("importance", KVSIM_MEMBER(reuse.importance), importance_schema(), Presence::optional, "selective: by what");
  return s;
}

void add_chunk_rules(ObjectSchema<Written>& scenario) {
  for (const char* key : kChunkKeys) {
    scenario.unread(
        {key},
        [](const Written& s) {
          return s.workload.chunks ? "" : "belongs to prompts made of chunks: give workload.chunks";
        },
        schema::IfWritten::refused);
  }
  const auto under = [](std::initializer_list<PrefillKind> kinds, const char* names) {
    return [kinds = std::vector<PrefillKind>(kinds), names](const Written& s) {
      const bool read = std::find(kinds.begin(), kinds.end(), s.serving.prefill) != kinds.end();
      return read || !s.workload.chunks ? "" : fmt::format("belongs to prefill.policy {}: use that", names);
    };
  };
  scenario.unread({"prefill.rho"}, under({PrefillKind::selective, PrefillKind::cacheblend}, "selective or cacheblend"));
  scenario.unread({"prefill.link_tokens"}, under({PrefillKind::epic}, "epic"));
  scenario.unread({"prefill.attention"}, under({PrefillKind::selective, PrefillKind::cacheblend, PrefillKind::epic},
                                               "selective, cacheblend or epic"));
  scenario.unread({"prefill.spans", "prefill.speculative", "prefill.importance"},
                  under({PrefillKind::selective}, "selective"));
}

void check_scored_prompts(const Scenario& s, const Reporter& report) {
  const models::SharedChunkSpec& chunks = *s.workload.chunks;
  const std::int64_t expected = chunks.tokens_per_request();
  const auto& prompts = *s.serving.scored_prompts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].target_tokens() == expected) continue;
    report.fail(
        "prefill.importance.path",
        fmt::format("scores of the wrong length: its prompt {} has {} tokens, expected the {} of {} chunks of {}",
                    i + 1, prompts[i].target_tokens(), expected, chunks.per_request, chunks.tokens));
  }
}

void complete_reuse(Scenario& s, Written& written, const models::Catalogue& catalogue, const Reporter& report) {
  const auto& chunks = s.workload.chunks;
  if (!chunks) {
    if (s.serving.placement && s.serving.placement->preload) {
      report.fail("placement.preload",
                  "nobody knows beforehand what prompts begin with: it belongs to workload.chunks");
    }
    if (asks_for_chunks(s)) {
      report.fail("prefill.policy",
                  "it puts prompts together from chunks, and this workload's have none: give "
                  "workload.chunks, or use prefix_cache");
    }
    return;
  }
  const models::LlmSpec& model = s.serving.model;
  if (chunks->tokens > model.max_context) {
    report.fail("workload.chunks.tokens",
                fmt::format("a chunk of {} tokens is larger than the context window of {}, {}", chunks->tokens,
                            model.name, model.max_context));
  }
  if (chunks->tokens_per_request() >= model.max_context) {
    report.fail("workload.chunks.per_request",
                fmt::format("{} chunks of {} tokens leave nothing of the context window of {}, {} tokens",
                            chunks->per_request, chunks->tokens, model.name, model.max_context));
  }
  const bool recomputes = s.serving.prefill == PrefillKind::recompute;
  if (s.serving.placement && !recomputes && report.node().find_path("placement.granularity") &&
      (s.serving.placement->granularity == models::Granularity::chunks) != asks_for_chunks(s)) {
    report.fail("placement.granularity", asks_for_chunks(s)
                                             ? "this prefill policy puts prompts together from chunks: use chunks"
                                             : "a prefix is a chain, and chunks are no part of one: use blocks");
  }
  models::ReuseSpec& reuse = written.reuse;
  if (!report.node().find_path("prefill.speculative.model")) reuse.speculative.model = catalogue.model(kSmallModel);
  if (s.workload.tasks.empty()) {
    for (const char* name : kTasks) s.workload.tasks.push_back(catalogue.rag_task(name));
  }
  serving::ServingConfig& c = s.serving;
  c.tasks = s.workload.tasks;
  c.chunks = chunks;
  if (c.placement) {
    c.placement->granularity = asks_for_chunks(s) ? models::Granularity::chunks : models::Granularity::blocks;
  }
  // A policy that reuse is compared with stores nothing: a comparison or a sweep need not take the tiers away.
  if (recomputes) c.placement.reset();
  if (!asks_for_chunks(s)) return;
  c.reuse = reuse;
  c.reuse->method = method_of(c.prefill);
  if (c.prefill == PrefillKind::selective) c.cluster.groups.front().scorer_gpus = reuse.speculative.gpus;
}

namespace {

std::string formats_with_blocks() {
  std::vector<std::string_view> names;
  for (const models::TraceFormat& format : models::trace_formats()) {
    if (format.block_tokens > 0) names.push_back(format.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// For a key that says that prompts' blocks are found again: `what` it says, and what to do without.
void check_blocks(const Scenario& s, const Reporter& report, const char* key, const char* what, const char* as_they_are,
                  const char* instead) {
  if (has_prefix_blocks(s)) return;
  if (s.workload.recorded_prompts()) {
    report.fail(key, fmt::format("{} needs requests that say which blocks of their prompts they share, "
                                 "and traces of format {} do not: {} takes prompts as they are; "
                                 "trace.arrivals_only: true takes when they arrive alone, beside context, output "
                                 "and prefixes of your own; traces that say so are {}, and logs with columns.blocks",
                                 what, s.workload.trace->format, as_they_are, formats_with_blocks()));
  }
  report.fail(key, fmt::format("{} needs requests that say which blocks of their prompts they share, and this "
                               "workload's say nothing: give workload.prefixes, workload.chunks or workload.sessions, "
                               "use a trace that says so ({}, or columns with blocks), or {}",
                               what, formats_with_blocks(), instead));
}

}  // namespace

void check_prefixes(const Scenario& s, const Reporter& report) {
  if (s.serving.prefill == serving::PrefillKind::prefix_cache) {
    check_blocks(s, report, "prefill", "prefix_cache", "prefill: recompute", "prefill: stored");
  }
  if (!s.serving.schedule.prefix_caching) return;
  const char* key = "schedule.prefix_caching";
  check_blocks(s, report, key, "it", "leaving it out", "leave it out");
  const std::int64_t shared = make_feed(s, s.serving.run.seed)->prefix_block_tokens();
  if (shared % s.serving.schedule.block_tokens != 0) {
    refuse_unworkable(report, key,
                      fmt::format("this workload's requests share blocks of {} tokens, and KV is kept in blocks of {}, "
                                  "which do not fill them: use a schedule.block_size that does",
                                  shared, s.serving.schedule.block_tokens));
  }
}

}  // namespace kvsim::scenario
