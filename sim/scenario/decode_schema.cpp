// The field table of decode, and which of its keys each policy reads.
#include <string>

#include <fmt/format.h>

#include "models/acceptance/acceptance.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/schemas.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::scenario {
namespace {

using serving::DecodePolicy;

ObjectSchema<serving::DraftTree> draft_tree_schema() {
  using serving::DraftTree;
  ObjectSchema<DraftTree> s("tree", "Drafts that branch; of each the step accepts one path of at most draft_length.");
  s.required("top_k", &DraftTree::top_k, integer().at_least(1).at_most(1024),
             "candidates that each pass but the first goes on with (SGLang: speculative_eagle_topk)");
  s.required("tokens", &DraftTree::tokens, integer().at_least(2).at_most(4096),
             "query tokens of a request's step, the one after its context among them (SGLang: "
             "speculative_num_draft_tokens)");
  return s;
}

ObjectSchema<serving::DrafterConfig> drafter_schema() {
  using serving::DrafterConfig;
  ObjectSchema<DrafterConfig> s("drafter", "An auxiliary drafter beside the model: an EAGLE head, MTP, a small model.");
  s.reference("type", &DrafterConfig::spec, "drafter", models::drafter_schema(), Presence::required, "which drafter");
  s.optional("draft_length", &DrafterConfig::draft_length,
             integer().at_least(1).at_most(64).or_word("own", 0, "as many as the catalogue gives it"),
             "tokens that it proposes before a step");
  s.object("tree", &DrafterConfig::tree, draft_tree_schema(), Presence::optional,
           "drafts that branch, under decode policies drafter and lossy+drafter; left out: a chain");
  s.object("acceptance", &DrafterConfig::acceptance, models::acceptance_schema(), Presence::optional,
           "how many of them the step accepts, in place of what is published of it");
  s.check([](const DrafterConfig& d, const Reporter& report) {
    if (d.acceptance && d.acceptance->kind == models::AcceptanceKind::compressor) {
      report.fail("acceptance.model", "a drafter has no compressor: expected constant, positions or another model");
    }
    if (d.tree && d.spec.block) report.fail("tree", "a drafter of whole blocks proposes no tree: remove this key");
  });
  return s;
}

ObjectSchema<serving::SparseConfig> sparse_schema() {
  using serving::SparseConfig;
  ObjectSchema<SparseConfig> s("sparse", "What sparse_self drafts with, in place of what other policies draft with.");
  s.reference("selection", &SparseConfig::selection, "compressor", models::compressor_schema(), Presence::optional,
              "what chooses the tokens to read; by default the compressor");
  s.optional("keep_ratio", &SparseConfig::keep_ratio, number().above(0).at_most(1), "share of the full KV read");
  s.optional("draft_length", &SparseConfig::draft_length, integer().at_least(1).at_most(4096),
             "tokens drafted per round before one verification");
  s.object("acceptance", &SparseConfig::acceptance, models::acceptance_schema(), Presence::optional,
           "how many drafted tokens a verification accepts");
  return s;
}

/// Whether sparse_self's drafts have an own one of what other policies draft with.
template <class Member>
bool has_own(const Written& s, Member serving::SparseConfig::*member) {
  const auto& sparse = s.serving.decode.sparse;
  return serving::configured_policy(s.serving).keeps_full && sparse && ((*sparse).*member).has_value();
}

/// Why drafts read no compressed KV of the decode policy's own; empty where they do.
std::string unread_compressor(const Written& s) {
  const DecodePolicy decode = serving::configured_policy(s.serving);
  if (!decode.reads_compressed) {
    return fmt::format("decode policy {} reads no compressed KV: use another, such as lossy or draft_verify",
                       decode.name);
  }
  if (!decode.as_found()) return {};
  return s.workload.chunks ? "drafts read prompts as they were put together from chunks: use prefill"
                           : "drafts read prompts as they were stored: use placement.compressor";
}

/// Which decode policies, and what beside them, read which keys of decode.
void add_decode_rules(ObjectSchema<Written>& decode) {
  // A rule that looks at the policy alone.
  const auto by_policy = [](bool (*reads)(const DecodePolicy&), const char* without, const char* instead) {
    return [=](const Written& s) {
      const DecodePolicy policy = serving::configured_policy(s.serving);
      return reads(policy) ? std::string() : fmt::format("decode policy {} {}: {}", policy.name, without, instead);
    };
  };
  decode.unread({"compressor"}, [](const Written& s) {
    return has_own(s, &serving::SparseConfig::selection) ? "drafts read what decode.sparse.selection chooses: use that"
                                                         : unread_compressor(s);
  });
  decode.unread({"keep_ratio", "budget"}, [](const Written& s) {
    return has_own(s, &serving::SparseConfig::keep_ratio) ? "drafts read decode.sparse.keep_ratio of the KV: use that"
                                                          : unread_compressor(s);
  });
  decode.unread({"draft_length"}, [](const Written& s) {
    const DecodePolicy policy = serving::configured_policy(s.serving);
    const std::string& lengths = s.serving.decode.draft_lengths.policy;
    if (policy.proposes()) {
      return fmt::format("decode policy {} drafts with its drafter: use decode.drafter.draft_length", policy.name);
    }
    if (!policy.verifies) return fmt::format("decode policy {} drafts nothing: use draft_verify", policy.name);
    if (lengths != "fixed") return fmt::format("decode.draft_lengths.policy {} chooses how much is drafted", lengths);
    return std::string(has_own(s, &serving::SparseConfig::draft_length)
                           ? "drafts are as long as decode.sparse.draft_length says: use that"
                           : "");
  });
  decode.unread({"acceptance"}, [](const Written& s) {
    const DecodePolicy policy = serving::configured_policy(s.serving);
    if (!policy.verifies) {
      return fmt::format("decode policy {} verifies no drafts of its own: use draft_verify{}", policy.name,
                         policy.drafter ? ", or decode.drafter.acceptance" : "");
    }
    return std::string(has_own(s, &serving::SparseConfig::acceptance) ? "drafts have decode.sparse.acceptance: use that"
                                                                      : "");
  });
  const auto reloads = [](const DecodePolicy& p) { return p.verifies && !p.keeps_full && !p.as_found(); };
  decode.unread({"draft_limit"},
                by_policy([](const DecodePolicy& p) { return p.verifies; }, "verifies no drafts", "use draft_verify"));
  decode.unread({"resident", "offloaded"},
                by_policy(reloads, "reloads no full KV to verify drafts against", "use draft_verify"));
  decode.unread({"prefetch.top_k", "prefetch.overlap", "prefetch.query_tokens", "prefetch.row_tokens",
                 "prefetch.layout", "prefetch.copies", "prefetch.attention"},
                by_policy([](const DecodePolicy& p) { return p.fetches_pairs(); }, "fetches no KV pairs",
                          "use speculative_prefetch or fetch_on_demand"));
  decode.unread({"prefetch.dequantisation"},
                by_policy([](const DecodePolicy& p) { return p.low_bit_copy; }, "has no low-bit copy",
                          "use one with it, such as quantised_only"));
  decode.unread({"prefetch.attends_again"},
                by_policy([](const DecodePolicy& p) { return p.fetch == serving::Fetch::on_demand; }, "attends once",
                          "use fetch_on_demand"));
  decode.unread({"prefetch.buffered_layers"},
                by_policy([](const DecodePolicy& p) { return p.fetch == serving::Fetch::everything; },
                          "streams no layers", "use full_offload"));
  decode.unread({"drafter"}, by_policy([](const DecodePolicy& p) { return p.drafter; }, "has no auxiliary drafter",
                                       "use a policy with one, such as drafter"));
  decode.unread({"sparse"}, by_policy([](const DecodePolicy& p) { return p.keeps_full; },
                                      "does not draft on a part of the full KV", "use sparse_self"));
  decode.unread({"draft_lengths"}, by_policy([](const DecodePolicy& p) { return p.drafts(); }, "drafts nothing",
                                             "use draft_verify, or a policy with a drafter"));
}

}  // namespace

ObjectSchema<Written> decode_schema() {
  ObjectSchema<Written> s("decode", "What a decoding step computes and against which representation of the KV.");
  s.required("policy", KVSIM_MEMBER(serving.decode.policy), one_of(words_of(serving::decode_policies())),
             "decode policy");
  s.reference("compressor", &Written::compressor, "compressor", models::compressor_schema(), Presence::optional,
              "KV compressor (all policies but full_kv and full_offload)");
  s.optional("keep_ratio", &Written::keep_ratio, number().above(0).at_most(1),
             "compressed KV / full KV, of token dropping; a quantiser's ratio follows from its bits");
  s.optional(
      "budget", KVSIM_MEMBER(serving.decode.budget), tokens().at_least(1),
      "tokens that token dropping leaves of a prompt (of the whole context, where the compressor acts on all), in "
      "place of keep_ratio; its figures are those at the share of each request that this is");
  s.optional("draft_length", KVSIM_MEMBER(serving.decode.draft_length), integer().at_least(1).at_most(4096),
             "tokens drafted per round before one verification (draft_lengths: policy fixed)");
  s.optional("draft_limit", KVSIM_MEMBER(serving.decode.draft_limit),
             integer().non_negative().at_most(8192).or_word("strict", serving::kStrictDraftLimit,
                                                            "the draft length and no more: a request whose "
                                                            "verification is late waits for it"),
             "most tokens drafted while a verification is late; 0: twice the longest draft length");
  s.optional("resident", KVSIM_MEMBER(serving.decode.resident), integer().non_negative(),
             "requests per replica whose full KV stays in GPU memory (pinned)");
  s.optional("offloaded", KVSIM_MEMBER(serving.decode.offloaded),
             integer().at_least(1).or_word("all", -1, "as many as memory and link allow"),
             "most requests per replica whose full KV lives in host memory");
  s.object("prefetch", KVSIM_MEMBER(serving.decode.prefetch), models::prefetch_schema(), Presence::optional,
           "what is fetched from host memory, or a storage node, beside a low-bit copy "
           "(speculative_prefetch, fetch_on_demand, full_offload)");
  s.object("acceptance", KVSIM_MEMBER(serving.decode.acceptance), models::acceptance_schema(), Presence::optional,
           "how many drafted tokens a verification accepts");
  s.object("drafter", KVSIM_MEMBER(serving.decode.drafter), drafter_schema(), Presence::optional,
           "auxiliary drafter (policies with one)");
  s.object("sparse", KVSIM_MEMBER(serving.decode.sparse), sparse_schema(), Presence::optional,
           "what sparse_self drafts with, where that is something else");
  s.object("draft_lengths", KVSIM_MEMBER(serving.decode.draft_lengths), draft_lengths_schema(), Presence::optional,
           "how many tokens each round drafts; by default draft_length");
  add_decode_rules(s);
  return s;
}

}  // namespace kvsim::scenario
