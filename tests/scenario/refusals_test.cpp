// Configurations that make no sense as a whole: the message, word for word, and where it points to.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"
#include "tests/scenario/key_rows.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::ConfigurationError;

struct Refusal {
  const char* name;
  std::vector<std::pair<std::string, std::string>> edits;  ///< of the small scenario's text
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

std::string edited(const Refusal& refusal) {
  std::string text = kSmallScenario;
  for (const auto& [from, to] : refusal.edits) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("the small scenario has no \"" + from + "\"");
    text.replace(at, from.size(), to);
  }
  return text;
}

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithThisMessageAtThisPlace) {
  try {
    scenario::load_scenario_text(edited(GetParam()), "small.yaml");
    FAIL() << "accepted:\n" << edited(GetParam());
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()), GetParam().message);
  }
}

/// The small scenario under a policy that fetches KV.
std::vector<std::pair<std::string, std::string>> fetching(const std::string& policy, const std::string& more = "",
                                                          std::pair<std::string, std::string> edit = {"small",
                                                                                                      "small"}) {
  return {{"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}",
           policy + ", compressor: specache-2bit" + more + "}"},
          {"staggered", "fcfs"},
          std::move(edit)};
}

const std::string kTwoRows = "draft_lengths: {policy: table, table: [{batch: 4, context: 2k tokens, draft_length: 9}, ";
const std::string kKvzip = "compressor: kvzip, keep_ratio: 0.25";

INSTANTIATE_TEST_SUITE_P(
    Configurations, Refused,
    ::testing::Values(
        Refusal{
            "DraftsWhilePromptsComeFirst",
            {{"staggered", "staggered, prefill_order: prefill_first"}},
            "small.yaml:14:46: schedule.prefill_order: what becomes of the drafts or fetches of decode policy "
            "draft_verify while prefill_first lets decoding wait is not known: use mixed, or decode policy full_kv, "
            "drafter or lossy"},
        Refusal{
            "DraftsByAnEngineThatComputesPromptsFirst",
            {{"staggered", "staggered, engine: sglang"}},
            "small.yaml:14:11: schedule.prefill_order: what becomes of the drafts or fetches of decode policy "
            "draft_verify while prefill_first lets decoding wait is not known: use mixed, or decode policy full_kv, "
            "drafter or lossy"},
        Refusal{"DraftsWhileLoadsBlock",
                {{"staggered", "staggered, blocking_loads: true"}},
                "small.yaml:14:47: schedule.blocking_loads: what becomes of drafts, reloads and fetches while "
                "iterations wait "
                "for what is loaded is not known: load beside iterations"},
        Refusal{"PrefixCachingWithDrafts",
                {{"  context: 16k", "  prefixes: {count: 2, tokens: 4k tokens}\n  context: 16k"},
                 {"prefill: stored", "prefill: recompute"},
                 {"draft_verify, compressor: kvzip", "draft_verify, compressor: fast-kvzip"},
                 {"staggered", "staggered, prefix_caching: true"}},
                "small.yaml:15:47: schedule.prefix_caching: what requests share in GPU memory is known where they hold "
                "their full KV and nothing else, and decode policy draft_verify does something else: use full_kv, or "
                "remove this key"},
        Refusal{"RoutingSessionsOfNone",
                {{"cluster:", "cluster:\n  router: session"}},
                "small.yaml:5:11: cluster.router: session keeps the turns of a session on one replica, and this "
                "workload's requests belong to none: give workload.sessions or trace.sessions, or use least_loaded"},
        Refusal{"PrefixCachingOfStoredPrompts",
                {{"  context: 16k", "  prefixes: {count: 2, tokens: 4k tokens}\n  context: 16k"},
                 {"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20", "full_kv"},
                 {"staggered", "fcfs, prefix_caching: true"}},
                "small.yaml:15:42: schedule.prefix_caching: prompts that are loaded from elsewhere and found in GPU "
                "memory, too, are not described: use prefill: recompute without a placement, or remove this key"},
        Refusal{"PrefixCachingOfPromptsThatShareNothing",
                {{"prefill: stored", "prefill: recompute"},
                 {"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20", "full_kv"},
                 {"staggered", "fcfs, prefix_caching: true"}},
                "small.yaml:14:42: schedule.prefix_caching: it needs requests that say which blocks of their prompts "
                "they share, and this workload's say nothing: give workload.prefixes, workload.chunks or "
                "workload.sessions, use a trace that says so (mooncake, bailian, weka, or columns with blocks), or "
                "leave it out"},
        Refusal{
            "PrefixCachingInOtherBlocks",
            {{"  context: 16k", "  prefixes: {count: 2, tokens: 4k tokens}\n  context: 16k"},
             {"prefill: stored", "prefill: recompute"},
             {"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20", "full_kv"},
             {"staggered", "fcfs, prefix_caching: true, block_size: 48 tokens"}},
            "small.yaml:15:42: schedule.prefix_caching: this workload's requests share blocks of 256 tokens, and KV "
            "is kept in blocks of 48, which do not fill them: use a schedule.block_size that does"},
        Refusal{"PrefixCachingOfWindows",
                {{"llama-3.1-8b", "gpt-oss-20b"},
                 {"  context: 16k", "  prefixes: {count: 2, tokens: 4k tokens}\n  context: 16k"},
                 {"prefill: stored", "prefill: recompute"},
                 {"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20", "full_kv"},
                 {"staggered", "fcfs, prefix_caching: true"}},
                "small.yaml:15:42: schedule.prefix_caching: 12 of the 24 layers of gpt-oss-20b keep the KV of the last "
                "128 tokens alone: what a prefix leaves of that is not described: remove this key"},
        Refusal{"ReservedOutputsOfCompressedKv",
                {{"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20",
                  "lossy, compressor: kvzip, keep_ratio: 0.25"},
                 {"staggered", "fcfs, reserve: prompt_and_output"}},
                "small.yaml:14:35: schedule.reserve: prompt_and_output reserves the full KV of all tokens, and decode "
                "policy lossy holds something else: use prompt, or decode policy full_kv or drafter"},
        Refusal{"AnEngineThatIsNotKnown",
                {{"staggered", "staggered, engine: sglan"}},
                "small.yaml:14:39: schedule.engine: unknown engine \"sglan\"; did you mean \"sglang\"? `kvsim list "
                "engines` names them all"},
        Refusal{"MoreChunksThanThereAre",
                {{"  context: 16k", "  chunks: {count: 7, per_request: 8}\n  context: 16k"}},
                "small.yaml:9:35: workload.chunks.per_request: per_request is 8, expected at most 7 (count): a prompt "
                "has no chunk "
                "twice"},
        Refusal{"ChunksBeyondTheLongestRequest",
                {{"  context: 16k", "  chunks: {count: 70, per_request: 50, tokens: 200k tokens}\n  context: 16k"}},
                "small.yaml:9:36: workload.chunks.per_request: per_request is 50 chunks of 200000 tokens, 10000000 "
                "together, "
                "expected fewer than 10000000"},
        Refusal{"ChunksWithoutTheirNumberInAPrompt",
                {{"  context: 16k", "  chunks: {count: 7}\n  context: 16k"}},
                "small.yaml:9:11: workload.chunks: missing key \"per_request\" of chunks, expected a whole number such "
                "as 25"},
        Refusal{"ChunksAndPrefixes",
                {{"  context: 16k",
                  "  chunks: {count: 9, per_request: 8}\n  prefixes: {count: 2, tokens: 1k tokens}\n  context: 16k"}},
                "small.yaml:9:11: workload.chunks: prompts begin with prefixes or with chunks, not with both: remove "
                "one of the "
                "keys"},
        Refusal{"ChunksOfATrace",
                {{"  closed: {concurrency: 10}\n  context: 16k tokens\n  output: 200 tokens\n  requests: 60\n",
                  "  trace: {format: csv, path: t.csv}\n  chunks: {count: 9, per_request: 8}\n"}},
                "small.yaml:9:11: workload.chunks: the trace brings its own prompts: remove this key, or add "
                "trace.arrivals_only: true"},
        Refusal{
            "AScheduleOfVerificationsWithoutAny",
            {{"draft_verify", "lossy"}},
            "small.yaml:14:20: schedule.policy: schedule staggered orders verifications and decode policy lossy has "
            "none: use fcfs"},
        Refusal{
            "ATableOfDraftLengthsWithoutRows",
            {{"draft_length: 20", "draft_lengths: {policy: table}"}},
            "small.yaml:13:84: decode.draft_lengths: missing key \"table\", which policy table needs, with at least "
            "one row"},
        Refusal{"ADraftTableWithARowTwice",
                {{"draft_length: 20", kTwoRows + "{batch: 4, context: 2k tokens, draft_length: 7}]}"}},
                "small.yaml:13:157: decode.draft_lengths.table.1: batch 4 and context 2000 are in the table twice"},
        Refusal{
            "ADraftTableOutOfOrder",
            {{"draft_length: 20", kTwoRows + "{batch: 4, context: 1k tokens, draft_length: 7}]}"}},
            "small.yaml:13:157: decode.draft_lengths.table.1: rows must ascend in batch and, for the same batch, in "
            "context"},
        Refusal{"DraftLengthsTheWrongWayRound",
                {{"draft_length: 20", "draft_lengths: {policy: adaptive, minimum: 9, maximum: 8}"}},
                "small.yaml:13:112: decode.draft_lengths.minimum: must not exceed maximum"},
        Refusal{"ADraftLimitBelowTheDraftLength",
                {{"draft_length: 20", "draft_length: 20, draft_limit: 19"}},
                "small.yaml:13:100: decode.draft_limit: 19 is below the 20 tokens that are drafted before anything is "
                "late: expected 20 or more, 0 for twice as many, or strict for no more"},
        Refusal{
            "DraftsLongerThanAnIteration",
            {{"draft_length: 20", "draft_lengths: {policy: adaptive, maximum: 2000}"}},
            "small.yaml:14:11: schedule.max_batched_tokens: 2048 tokens are less than one verification of up to 4000 "
            "drafted tokens"},
        Refusal{"APolicyWithoutItsCompressor",
                {{kKvzip, "keep_ratio: 0.25"}},
                "small.yaml:13:9: decode: decode policy draft_verify needs a compressor"},
        Refusal{"ACompressorThatIsNotForDecoding",
                {{"kvzip", "duo-attention"}},
                "small.yaml:13:44: decode.compressor: compressor duo-attention cannot be used for decoding on one "
                "replica"},
        Refusal{"AnOfflineCompressorOfPromptsComputedHere",
                {{"prefill: stored", "prefill: recompute"}},
                "small.yaml:13:44: decode.compressor: compressor kvzip works offline, before a request arrives: use "
                "prefill {policy: stored}, or a compressor whose mode is online"},
        Refusal{
            "ACompressorOfUnknownAcceptance",
            {{"compressor: kvzip",
              "compressor: {name: mine, description: mine, kind: token_dropping, mode: online, "
              "scope: prompt, reload: missing}"}},
            "small.yaml:13:44: decode.compressor: compressor mine has no acceptance figures: give decode.acceptance "
            "explicitly"},
        Refusal{"ATokenBudgetBelowOneVerification",
                {{"policy: staggered", "policy: staggered, max_batched_tokens: 40"}},
                "small.yaml:14:51: schedule.max_batched_tokens: 40 tokens are less than one verification of up to 40 "
                "drafted "
                "tokens"},
        Refusal{
            "AModelThatDoesNotFit",
            {{"llama-3.1-8b", "llama-3.1-70b"}},
            "small.yaml:5:8: cluster.gpu: llama-3.1-70b does not fit: 141.1 GB of weights, 1 x h100-sxm leaves 42.5 "
            "GB at memory_fraction 0.5 with 0.0 GB of activations per GPU, and not one block of KV beside them"},
        Refusal{"AModelThatFitsWithoutRoomForKv",
                {{"model: llama-3.1-8b", "model: {base: llama-3.1-8b, weights: 42.5137 GB}"}},
                "small.yaml:5:8: cluster.gpu: llama-3.1-8b (changed) does not fit: 42.5 GB of weights, 1 x h100-sxm "
                "leaves 42.5 GB at memory_fraction 0.5 with 0.0 GB of activations per GPU, and not one block of KV "
                "beside them"},
        Refusal{"AnEndlessRun",
                {{"  requests: 60\n", ""}},
                "small.yaml:2:1: run: an endless run: give run.duration, or workload.requests"},
        Refusal{"AWarmUpAsLongAsTheRun",
                {{"prefill: stored", "prefill: stored\nrun: {duration: 2 s, warmup: 2 s}"}},
                "small.yaml:13:30: run.warmup: must be shorter than run.duration"},
        Refusal{"MoreResidentRequestsThanRun",
                {{"keep_ratio", "resident: 300, keep_ratio"}},
                "small.yaml:13:61: decode.resident: must not exceed schedule.max_requests"}));

INSTANTIATE_TEST_SUITE_P(
    Fetching, Refused,
    ::testing::Values(
        Refusal{
            "ALowBitCopyByDroppingTokens",
            {{"draft_verify", "quantised_only"}, {"staggered", "fcfs"}},
            "small.yaml:13:46: decode.compressor: decode policy quantised_only keeps a copy of few bits on the GPU, "
            "and kvzip does not quantise: use a quantiser, for example specache-2bit"},
        Refusal{"LinksThatAreShared",
                fetching("full_offload", "", {"link: pcie5-x16", "link: pcie5-x16, discipline: fair_share"}),
                "small.yaml:6:56: cluster.host.discipline: decode policy full_offload copies layer after layer, in "
                "order: use serialised"},
        Refusal{"ABufferForAllLayers", fetching("full_offload", ", prefetch: {buffered_layers: 32}"),
                "small.yaml:13:87: decode.prefetch.buffered_layers: llama-3.1-8b has 32 layers, and the GPU would hold "
                "all of their KV: use full_kv, or fewer"},
        Refusal{"RowsLongerThanAnyContext", fetching("fetch_on_demand", ", prefetch: {row_tokens: 200000}"),
                "small.yaml:13:85: decode.prefetch.row_tokens: a row of 200000 tokens is longer than any context of "
                "llama-3.1-8b"},
        Refusal{"AWayToCopyThatTheLinkHasNot", fetching("speculative_prefetch", ", prefetch: {copies: mapped}"),
                "small.yaml:13:86: decode.prefetch.copies: link pcie5-x16 has no figures for \"mapped\", expected best "
                "or one of single_copies, batched_copies, mapped_reads"},
        Refusal{"ALinkWithoutFiguresForRows",
                fetching("speculative_prefetch", "", {"link: pcie5-x16", "link: nvlink4"}),
                "small.yaml:6:33: cluster.host.link.gathers: link nvlink4 has no figures for copying "
                "scattered rows: give them"},
        Refusal{"LatentAttention", fetching("speculative_prefetch", "", {"model: llama-3.1-8b", "model: deepseek-v3"}),
                "small.yaml:3:8: model: decode policy speculative_prefetch fetches keys and values of KV heads, and "
                "deepseek-v3 "
                "keeps one latent a token"}));

/// The small scenario with drafts of another kind.
std::vector<std::pair<std::string, std::string>> drafting(const std::string& decode) {
  return {{"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}", decode + "}"},
          {"staggered", "fcfs"}};
}

INSTANTIATE_TEST_SUITE_P(
    Drafting, Refused,
    ::testing::Values(
        Refusal{"ADrafterThatIsNotGiven", drafting("drafter"),
                "small.yaml:13:9: decode.drafter: decode policy drafter needs an auxiliary drafter: give "
                "decode.drafter (kvsim list drafters)"},
        Refusal{"TwoLevelsWithoutADrafter",
                {{"draft_verify", "draft_verify+drafter"}},
                "small.yaml:13:9: decode.drafter: decode policy draft_verify+drafter needs an auxiliary drafter: give "
                "decode.drafter (kvsim list drafters)"},
        Refusal{"SparseDraftsWithoutTheirDrafter",
                drafting("sparse_self+drafter, draft_length: 9, sparse: {selection: pillar-attention, keep_ratio: "
                         "0.05}"),
                "small.yaml:13:9: decode.drafter: decode policy sparse_self+drafter needs an auxiliary drafter: give "
                "decode.drafter (kvsim list drafters)"},
        Refusal{"AStreamedKvWithoutADrafter", drafting("full_offload+drafter"),
                "small.yaml:13:9: decode.drafter: decode policy full_offload+drafter needs an auxiliary drafter: give "
                "decode.drafter (kvsim list drafters)"},
        Refusal{"FetchedPairsWithoutADrafter", drafting("speculative_prefetch+drafter, compressor: specache-2bit"),
                "small.yaml:13:9: decode.drafter: decode policy speculative_prefetch+drafter needs an auxiliary "
                "drafter: give decode.drafter (kvsim list drafters)"},
        Refusal{"AHeadOfAnotherModel", drafting("drafter, drafter: {type: eagle3-llama-3.1-70b}"),
                "small.yaml:13:43: decode.drafter.type: eagle3-llama-3.1-70b reads the hidden states of llama-3.1-70b, "
                "and the model is llama-3.1-8b: use a drafter that was trained for it, or a small model"},
        Refusal{"ADrafterOfAnotherVocabulary", drafting("drafter, drafter: {type: qwen3-1.7b}"),
                "small.yaml:13:43: decode.drafter.type: qwen3-1.7b has a vocabulary of 151936 tokens, llama-3.1-8b one "
                "of 128256: its tokens mean nothing to the model"},
        Refusal{"ADrafterThatIsLikeACompressor",
                drafting("drafter, drafter: {type: llama-3.2-1b, acceptance: {model: compressor}}"),
                "small.yaml:13:77: decode.drafter.acceptance.model: a drafter has no compressor: expected constant, "
                "positions or another model"},
        Refusal{"StepsTooSmallForADraftersTokens",
                {{"draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}",
                  "drafter, drafter: {type: llama-3.2-1b, draft_length: 8}}"},
                 {"staggered", "fcfs, max_batched_tokens: 8"}},
                "small.yaml:14:46: schedule.max_batched_tokens: one request's step takes 9 tokens with those of its "
                "drafter"},
        Refusal{"SparseDraftsWithoutASelection", drafting("sparse_self, draft_length: 9"),
                "small.yaml:13:9: decode: decode policy sparse_self needs something that chooses what drafts read: "
                "give decode.sparse.selection (such as pillar-attention), or a compressor"},
        Refusal{"ASelectionWithoutItsShare",
                drafting("sparse_self, draft_length: 9, sparse: {selection: pillar-attention}"),
                "small.yaml:13:56: decode.sparse: missing key \"keep_ratio\", which selection pillar-attention needs"},
        Refusal{"SparseDraftsOnAQuantisedCopy", drafting("sparse_self, compressor: kivi-2bit"),
                "small.yaml:13:43: decode.compressor: decode policy sparse_self reads some tokens of the full KV, and "
                "kivi-2bit quantises all: use one that drops tokens, or draft_verify with decode.resident"},
        Refusal{"ASelectionThatQuantises",
                drafting("sparse_self, draft_length: 9, sparse: {selection: kivi-2bit, keep_ratio: 0.2}"),
                "small.yaml:13:68: decode.sparse.selection: decode policy sparse_self reads some tokens of the full "
                "KV, and kivi-2bit quantises all: use one that drops tokens, or draft_verify with decode.resident"},
        Refusal{"ACompressedCopyOfWhatOnlyChooses",
                {{"kvzip", "pillar-attention"}},
                "small.yaml:13:44: decode.compressor: pillar-attention chooses anew what to read out of the whole KV, "
                "and draft_verify keeps a smaller one: use sparse_self, or a compressor"}));

std::string key_blamed(const serving::ServingConfig& config) {
  try {
    systems::check_serving(config);
  } catch (const ConfigurationError& e) {
    return e.key() + ": " + e.what();
  }
  return "none";
}

TEST(RefusedByTheSimulator, AreNamesThatNoTableHas) {
  // A scenario's field tables find these first; programs that fill in a configuration themselves come here.
  serving::ServingConfig c = small_scenario().serving;
  EXPECT_EQ(key_blamed(c), "none");
  c.decode.policy = "guess";
  EXPECT_EQ(key_blamed(c), "decode.policy: unknown decode policy guess");
  c = small_scenario().serving;
  c.schedule.policy = "random";
  EXPECT_EQ(key_blamed(c), "schedule.policy: unknown schedule policy random");
  c = small_scenario().serving;
  c.cluster.router = "random";
  EXPECT_EQ(key_blamed(c), "cluster.router: unknown router random");
}

std::string refused_run(const std::vector<std::string>& sets) {
  try {
    planner::run_experiment(small_scenario(sets));
  } catch (const ConfigurationError& e) {
    return e.key() + ": " + e.what();
  }
  return "none";
}

TEST(RefusedByTheSimulator, IsAWarmUpThatOutlastsTheRequests) {
  EXPECT_TRUE(refused_run({"run.warmup=1000 s"}).starts_with("run.warmup: the run ended at ")) << refused_run({});
}

TEST(RefusedByTheSimulator, IsAClosedLoopThatNobodyCanEnter) {
  EXPECT_EQ(
      refused_run({"workload.context=140k tokens", "workload.requests=2000"}),
      "workload: 1000 requests in a row were refused; the last request 2 (140000 + 200 tokens) needs a context of "
      "140200 tokens, llama-3.1-8b allows 131072: where YaRN or the like makes more of it, give model.max_context");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
