// Prompts made of chunks that make no sense as a whole: the message, word for word, and where it points to.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kChunks = R"(name: chunks
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 6 GB}
workload:
  closed: {concurrency: 2}
  chunks: {count: 12, per_request: 4}
  context: 64 tokens
  output: 32 tokens
  requests: 30
prefill: {policy: selective}
placement: {policy: lru}
decode: {policy: full_kv}
)";

using Edits = std::vector<std::pair<std::string, std::string>>;

struct Refusal {
  const char* name;
  Edits edits;  ///< of the text above
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

std::string edited(const Edits& edits) {
  std::string text = kChunks;
  for (const auto& [from, to] : edits) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("the scenario has no \"" + from + "\"");
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string complaint(const std::string& text) {
  try {
    scenario::load_scenario_text(text, "chunks.yaml");
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "none";
}

class RefusedReuse : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedReuse, WithThisMessageAtThisPlace) {
  EXPECT_EQ(complaint(edited(GetParam().edits)), GetParam().message);
}

TEST(RefusedReuse, IsNoneAsItStands) {
  EXPECT_EQ(complaint(kChunks), "none");
}

TEST(RefusedReuse, IsNoShareOfTheTokensFromNoneToAll) {
  for (const char* rho : {"0", "1", "0.5"}) {
    EXPECT_EQ(complaint(edited({{"selective}", std::string("selective, rho: ") + rho + "}"}})), "none") << rho;
  }
}

/// Nothing of the workload is made of chunks.
const std::pair<std::string, std::string> kWithoutChunks = {"  chunks: {count: 12, per_request: 4}\n", ""};
/// All of the prompt is computed, and nothing stored.
const std::pair<std::string, std::string> kComputed = {"prefill: {policy: selective}\nplacement: {policy: lru}\n",
                                                       "prefill: recompute\n"};

Refusal key_without_chunks(const char* name, const std::string& key, const std::string& written,
                           const std::string& where) {
  return {name,
          {kWithoutChunks, {kComputed.first, "prefill: {policy: recompute, " + written + "}\n"}},
          "chunks.yaml:" + where + ": " + key + ": belongs to prompts made of chunks: give workload.chunks"};
}

INSTANTIATE_TEST_SUITE_P(
    Shares, RefusedReuse,
    ::testing::Values(
        Refusal{"AShareAboveAll",
                {{"selective}", "selective, rho: 1.01}"}},
                "chunks.yaml:12:35: prefill.rho: must be >= 0 and <= 1, found 1.01: it is a share of the tokens"},
        Refusal{"AShareBelowNone",
                {{"selective}", "selective, rho: -0.1}"}},
                "chunks.yaml:12:35: prefill.rho: must be >= 0 and <= 1, found -0.1: it is a share of the tokens"},
        Refusal{"AShareThatIsNoNumber",
                {{"selective}", "selective, rho: most}"}},
                "chunks.yaml:12:35: prefill.rho: expected a number such as \"0.2\", found \"most\""},
        Refusal{"AShareInPercent",
                {{"selective}", "selective, rho: 15 %}"}},
                "chunks.yaml:12:35: prefill.rho: expected a number such as \"0.2\", found \"15 %\": write 0.15"},
        Refusal{"AShareThatIsNotANumber",
                {{"selective}", "selective, rho: .nan}"}},
                "chunks.yaml:12:35: prefill.rho: expected a number such as \"0.2\", found \".nan\""},
        Refusal{"LessThanNoLinkTokens",
                {{"selective}", "epic, link_tokens: -1 tokens}"}},
                "chunks.yaml:12:38: prefill.link_tokens: must be >= 0 tokens, found -1 tokens"},
        Refusal{"AMisspeltKey",
                {{"selective}", "selective, roh: 0.2}"}},
                "chunks.yaml:12:30: prefill: unknown key \"roh\" of prefill; did you mean \"rho\"?"},
        Refusal{"AMisspeltKeyOfSpans",
                {{"selective}", "selective, spans: {longst: 4 tokens}}"}},
                "chunks.yaml:12:38: prefill.spans: unknown key \"longst\" of spans; did you mean \"longest\"?"},
        Refusal{"AMisspeltPolicy",
                {{"selective}", "selectiv}"}},
                "chunks.yaml:12:19: prefill.policy: unknown value \"selectiv\"; did you mean \"selective\"?"},
        Refusal{"AnUnknownTask",
                {{"  context", "  tasks: [samsum, musiqe]\n  context"}},
                "chunks.yaml:9:19: workload.tasks.1: unknown rag_task \"musiqe\"; did you mean \"musique\"? `kvsim "
                "list rag_tasks` names them all"},
        Refusal{"NoTask",
                {{"  context", "  tasks: []\n  context"}},
                "chunks.yaml:9:10: workload.tasks: expected at least 1 item, found 0"},
        Refusal{"AnUnknownSmallModel",
                {{"selective}", "selective, speculative: {model: llama-3.2-1}}"}},
                "chunks.yaml:12:51: prefill.speculative.model: unknown model \"llama-3.2-1\"; did you mean "
                "\"llama-3.2-1b\"? `kvsim list models` names them all"},
        Refusal{"AFloorAboveAll",
                {{"decode:", "slo: {quality_floor: 1.1}\ndecode:"}},
                "chunks.yaml:14:22: slo.quality_floor: must be > 0 and <= 1, found 1.1"},
        Refusal{"AFloorOfNothing",
                {{"decode:", "slo: {quality_floor: 0}\ndecode:"}},
                "chunks.yaml:14:22: slo.quality_floor: must be > 0 and <= 1, found 0"},
        Refusal{"LessThanNoGpus",
                {{"selective}", "selective, speculative: {gpus: -1}}"}},
                "chunks.yaml:12:50: prefill.speculative.gpus: must be >= 0 and <= 1000, found -1"},
        Refusal{"ATokensRatioOfTheSameTokens",
                {{"selective}", "selective, speculative: {tokens_ratio: 1.2}}"}},
                "chunks.yaml:12:58: prefill.speculative.tokens_ratio: belongs to a tokenizer of its own: add "
                "own_tokenizer: true, or remove this key"},
        Refusal{"NeighboursThatAreTheSame",
                {{"selective}", "selective, importance: {correlation: 1}}"}},
                "chunks.yaml:12:56: prefill.importance.correlation: must be >= 0 and < 1, found 1"},
        Refusal{"AMajorityOfNobody",
                {{"selective}", "selective, spans: {majority: 0}}"}},
                "chunks.yaml:12:48: prefill.spans.majority: must be > 0 and <= 1, found 0"},
        Refusal{"SpansOfNothing",
                {{"selective}", "selective, spans: {longest: 0 tokens}}"}},
                "chunks.yaml:12:47: prefill.spans.longest: must be >= 1 token and <= 64Ki tokens, found 0 tokens"},
        Refusal{"AFileWithoutAPath",
                {{"selective}", "selective, importance: {source: file}}"}},
                "chunks.yaml:12:42: prefill.importance: missing key \"path\", which source: file needs"}));

INSTANTIATE_TEST_SUITE_P(
    Chunks, RefusedReuse,
    ::testing::Values(
        Refusal{"AChunkLargerThanTheContextWindow",
                {{"per_request: 4", "per_request: 1, tokens: 131073 tokens"}},
                "chunks.yaml:8:47: workload.chunks.tokens: a chunk of 131073 tokens is larger than the context window "
                "of llama-3.1-8b, 131072"},
        Refusal{"ChunksThatLeaveNothing",
                {{"per_request: 4", "per_request: 4, tokens: 32768 tokens"}},
                "chunks.yaml:8:36: workload.chunks.per_request: 4 chunks of 32768 tokens leave nothing of the context "
                "window of llama-3.1-8b, 131072 tokens"},
        Refusal{"ChunksThatAreNotThere",
                {kWithoutChunks, {"placement: {policy: lru}\n", ""}},
                "chunks.yaml:11:19: prefill.policy: it puts prompts together from chunks, and this workload's have "
                "none: give workload.chunks, or use prefix_cache"},
        Refusal{"ChunksOfATrace",
                {{"  closed: {concurrency: 2}\n  chunks: {count: 12, per_request: 4}\n  context: 64 tokens\n  output: "
                  "32 tokens\n  requests: 30\n",
                  "  trace: {format: mooncake, path: t.jsonl}\n"}},
                "chunks.yaml:8:19: prefill.policy: it puts prompts together from chunks, and this workload's have "
                "none: give workload.chunks, or use prefix_cache"},
        Refusal{"ChunksWithoutTiers",
                {{"placement: {policy: lru}\n", ""}},
                "chunks.yaml:12:19: prefill.policy: chunks are kept in tiers of memory: give placement (such as "
                "{policy: lru}) and cluster.host.memory, or use recompute"},
        Refusal{
            "ChunksOnPools",
            {{"  host: {memory: 6 GB}\n",
              "  pools: {local: {nodes: 1, link: storage-node-fast}, remote: {nodes: 1, link: storage-node-slow}}\n"},
             {"placement: {policy: lru}\n", ""}},
            "chunks.yaml:12:19: prefill.policy: nodes of pools read whole prefixes: use prefix_cache, or replicas with "
            "placement"},
        Refusal{"BlocksUnderAPolicyOfChunks",
                {{"policy: lru", "policy: lru, granularity: blocks"}},
                "chunks.yaml:13:39: placement.granularity: this prefill policy puts prompts together from chunks: use "
                "chunks"},
        Refusal{
            "ChunksInAPrefixCache",
            {{"selective", "prefix_cache"}, {"policy: lru", "policy: lru, granularity: chunks"}},
            "chunks.yaml:13:39: placement.granularity: a prefix is a chain, and chunks are no part of one: use blocks"},
        Refusal{"ContextsOfChunks",
                {{"policy: lru", "policy: lru, granularity: contexts"}},
                "chunks.yaml:13:39: placement.granularity: prompts made of chunks have no context of their own to "
                "store: use chunks where prefill puts them together, blocks with prefix_cache"},
        Refusal{"ChunksOfPrefixes",
                {{"chunks: {count: 12, per_request: 4}", "prefixes: {count: 12, tokens: 4k tokens}"},
                 {"selective", "prefix_cache"},
                 {"policy: lru", "policy: lru, granularity: chunks"}},
                "chunks.yaml:13:39: placement.granularity: a prefix is a chain, and chunks are no part of one: use "
                "blocks, or a prefill policy that reuses chunks (selective, cacheblend, epic, full_reuse)"},
        Refusal{"ADecodePolicyThatKeepsKvOfItsOwn",
                {{"policy: full_kv", "policy: lossy, compressor: fast-kvzip, keep_ratio: 0.5"}},
                "chunks.yaml:14:18: decode.policy: prompts of chunks are continued with the KV as it was put together, "
                "and lossy decodes otherwise: use full_kv, or draft_verify to verify against whole prompts"},
        Refusal{"ASmallModelThatCannotBeSharded",
                {{"type: h100-sxm", "type: h100-sxm, tensor_parallel: 4"},
                 {"selective}", "selective, speculative: {model: qwen2.5-0.5b}}"}},
                "chunks.yaml:12:51: prefill.speculative.model: 14 attention heads of qwen2.5-0.5b cannot be sharded "
                "evenly over the replica's 4 GPUs: give it GPUs of its own (prefill.speculative.gpus)"},
        Refusal{"PreloadingWithoutChunks",
                {kWithoutChunks,
                 {"  context", "  prefixes: {count: 12, tokens: 4k tokens}\n  context"},
                 {"selective", "prefix_cache"},
                 {"policy: lru", "policy: lru, preload: true"}},
                "chunks.yaml:13:35: placement.preload: nobody knows beforehand what prompts begin with: it belongs to "
                "workload.chunks"},
        key_without_chunks("AShareWithoutChunks", "prefill.rho", "rho: 0.2", "11:35"),
        key_without_chunks("LinkTokensWithoutChunks", "prefill.link_tokens", "link_tokens: 16 tokens", "11:43"),
        key_without_chunks("AttentionWithoutChunks", "prefill.attention", "attention: causal", "11:41"),
        key_without_chunks("SpansWithoutChunks", "prefill.spans", "spans: {enabled: false}", "11:37"),
        key_without_chunks("ASmallModelWithoutChunks", "prefill.speculative", "speculative: {gpus: 1}", "11:43"),
        key_without_chunks("ImportancesWithoutChunks", "prefill.importance", "importance: {cv: 1}", "11:42"),
        Refusal{"TasksWithoutChunks",
                {kWithoutChunks, kComputed, {"  context", "  tasks: [samsum]\n  context"}},
                "chunks.yaml:8:10: workload.tasks: belongs to prompts made of chunks: give workload.chunks"}));

/// What is read of a file with importances, of which only this line is wrong.
class RefusedScores : public ::testing::Test {
 protected:
  std::string complaint_about(const std::string& line, const std::string& prefill = "selective") {
    const std::string good = R"({"importance": [1, 2]})"
                             "\n";
    folder_.write("s.jsonl", good + line + "\n" + good);
    return without_folder(complaint(
        edited({{"per_request: 4", "per_request: 2, tokens: 1 token"},
                {"selective}", prefill + ", importance: {source: file, path: " + folder_.path() + "/s.jsonl}}"}})));
  }
  std::string without_folder(std::string text) const {
    for (auto at = text.find(folder_.path()); at != std::string::npos; at = text.find(folder_.path())) {
      text.erase(at, folder_.path().size() + 1);
    }
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(RefusedScores, AreFoundWhenTheScenarioIsLoadedWhateverItsPolicy) {
  for (const char* policy : {"selective", "epic", "full_recompute", "prefix_cache"}) {
    EXPECT_EQ(complaint_about(R"({"importance": [1, -2]})", policy),
              "s.jsonl:2:20: importance[1] is -2, expected a finite number, 0 or more")
        << policy;
  }
}

TEST_F(RefusedScores, AreNoneWhereTheFileIsWhole) {
  EXPECT_EQ(complaint_about(R"({"importance": [1], "offsets": [[0, 4]], "target_offsets": [[0, 2], [2, 4]]})"), "none");
}

TEST_F(RefusedScores, NameTheLineAndWhatWasExpected) {
  EXPECT_EQ(complaint_about("scores"),
            "s.jsonl:2:1: the line is not a complete JSON object, expected one prompt with importance");
  EXPECT_EQ(complaint_about(R"({"importance": [1, 2)"),
            "s.jsonl:2:21: the line is not a complete JSON object, expected one prompt with importance");
  EXPECT_EQ(complaint_about(R"({"importance": []})"),
            "s.jsonl:2:16: importance is empty, expected a number for every token");
  EXPECT_EQ(complaint_about(R"({"importanse": [1]})"),
            "s.jsonl:2:2: \"importanse\" is no key of a prompt; did you mean \"importance\"?");
  EXPECT_EQ(complaint_about(R"({"importance": [1, 2, 3], "offsets": [[0, 4], [4, 5]], "target_offsets": [[0, 4]]})"),
            "s.jsonl:2:16: scores of the wrong length: importance has 3 numbers, offsets has 2 ranges, expected one of "
            "each a token");
  EXPECT_EQ(complaint_about(R"({"importance": [1, 2], "offsets": [[0, 4], [3, 6]], "target_offsets": [[0, 6]]})"),
            "s.jsonl:2:35: offsets: token 1 is [3, 6) and token 0 is [0, 4), expected tokens that share no character, "
            "or are parts of the same one");
  EXPECT_EQ(complaint_about(R"({"importance": [1, 2], "offsets": [[0, 4], [4, 6]]})"),
            "s.jsonl:2:35: offsets is there without target_offsets, expected both or neither");
  EXPECT_EQ(
      complaint_about(R"({"importance": [1, 2], "offsets": [[0, 4], [4, 6]], "target_offsets": [[0, 4], [4, 9]]})"),
      "s.jsonl:2:71: target_offsets end at character 9, offsets at 6: expected both to cover the same text");
}

TEST_F(RefusedScores, AreThoseOfPromptsOfAnotherLength) {
  const std::string expected = "scores of the wrong length: its prompt 2 has 3 tokens, expected the 2 of 2 chunks of 1";
  EXPECT_NE(complaint_about(R"({"importance": [1, 2, 3]})").find(expected), std::string::npos);
  // Tokens are those of the model that answers.
  EXPECT_NE(complaint_about(
                R"({"importance": [1, 2], "offsets": [[0, 4], [4, 6]], "target_offsets": [[0, 2], [2, 4], [4, 6]]})")
                .find(expected),
            std::string::npos);
}

TEST_F(RefusedScores, AreThoseOfNoFileAndOfAnEmptyOne) {
  const auto complaint_with = [&](const std::string& path) {
    return without_folder(
        complaint(edited({{"selective}", "selective, importance: {source: file, path: " + path + "}}"}})));
  };
  const std::string expected =
      "JSON lines: importance and, where the models' tokens differ, offsets and target_offsets";
  EXPECT_EQ(complaint_with("no.jsonl"),
            "no.jsonl: cannot be opened (No such file or directory), expected scored prompts (" + expected + ")");
  folder_.write("empty.jsonl", "");
  EXPECT_EQ(complaint_with(folder_.path() + "/empty.jsonl"), "empty.jsonl: has no prompts, expected " + expected);
}

INSTANTIATE_TEST_SUITE_P(Unsharded, RefusedReuse,
                         ::testing::Values(Refusal{"NothingWhereTheSmallModelHasGpusOfItsOwn",
                                                   {{"type: h100-sxm", "type: h100-sxm, tensor_parallel: 4"},
                                                    {"selective}",
                                                     "selective, speculative: {model: qwen2.5-0.5b, gpus: 1}}"}},
                                                   "none"},
                                           Refusal{"NothingWhereNobodyScores",
                                                   {{"type: h100-sxm", "type: h100-sxm, tensor_parallel: 4"},
                                                    {"selective}", "epic, speculative: {model: qwen2.5-0.5b}}"}},
                                                   "none"}));

INSTANTIATE_TEST_SUITE_P(
    Decoding, RefusedReuse,
    ::testing::Values(
        Refusal{"DraftsOfUnknownAgreement",
                {{"full_kv", "draft_verify"}},
                "chunks.yaml:14:9: decode.acceptance: nothing is published of how drafts on reused chunks agree with "
                "whole prompts: give decode.acceptance, such as {model: constant, agreement: 0.95}"},
        Refusal{"ADrafter",
                {{"full_kv", "drafter, drafter: {type: llama-3.2-1b}"}},
                "chunks.yaml:14:18: decode.policy: drafter has an auxiliary drafter, and nothing is known of how the "
                "drafter's own KV of a chunk could be reused behind other chunks: use full_kv or draft_verify"},
        Refusal{
            "DraftsWithADrafter",
            {{"full_kv",
              "draft_verify+drafter, drafter: {type: llama-3.2-1b}, acceptance: {model: constant, agreement: 0.9}"}},
            "chunks.yaml:14:18: decode.policy: draft_verify+drafter has an auxiliary drafter, and nothing is known of "
            "how the drafter's own KV of a chunk could be reused behind other chunks: use full_kv or draft_verify"},
        Refusal{"SparseDrafts",
                {{"full_kv", "sparse_self, sparse: {selection: pillar-attention, keep_ratio: 0.05}"}},
                "chunks.yaml:14:18: decode.policy: prompts of chunks are continued with the KV as it was put together, "
                "and sparse_self decodes otherwise: use full_kv, or draft_verify to verify against whole prompts"},
        Refusal{"ASchedulePolicyWithoutVerifications",
                {{"full_kv}", "full_kv}\nschedule: {policy: staggered}"}},
                "chunks.yaml:15:20: schedule.policy: schedule staggered orders verifications and decode policy full_kv "
                "has none: use fcfs"}));

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
