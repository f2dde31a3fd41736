// Real traces, where they are at hand: the folder KVSIM_SHARED, or ../shared beside the project. They are not part of
// the project; without them these tests are skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "models/workload/trace_reader.h"
#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

std::string shared_trace(const std::string& name) {
  const char* const folder = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  return std::string(folder != nullptr ? folder : KVSIM_SHARED_DEFAULT) + "/traces/" + name;
}

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << (path) << "; set KVSIM_SHARED to the folder that has it"

TEST(SharedTraces, MooncakeConversationHasItsPublishedShape) {
  const std::string path = shared_trace("mooncake_conversation.jsonl");
  SKIP_WITHOUT(path);
  const TraceFormat& format = find_trace_format("mooncake");
  const TraceStatistics s = describe_trace(read_trace(format, path), format.block_tokens);
  EXPECT_EQ(s.requests, 12'031U);
  EXPECT_NEAR(s.span_s / 60, 59, 0.5);
  EXPECT_NEAR(s.prompt.mean, 12'035, 1);
  EXPECT_NEAR(s.prompt.p50, 6'909, 1);
  EXPECT_NEAR(s.prompt.p99, 85'400, 50);
  EXPECT_NEAR(s.output.mean, 343, 1);
  EXPECT_NEAR(s.block_reuse, 0.366, 0.0005);
  EXPECT_NEAR(s.token_reuse, 0.374, 0.0005);
}

TEST(SharedTraces, AzureConversationHasItsPublishedShape) {
  const std::string path = shared_trace("azure_conv_2023.csv");
  SKIP_WITHOUT(path);
  const TraceStatistics s = describe_trace(read_trace(find_trace_format("azure"), path), 0);
  EXPECT_EQ(s.requests, 19'366U);
  EXPECT_NEAR(s.span_s / 60, 58, 0.5);
  EXPECT_NEAR(s.rate_per_s, 5.53, 0.01);
  EXPECT_NEAR(s.prompt.mean, 1'155, 1);
  EXPECT_NEAR(s.output.mean, 211, 1);
}

TEST(SharedTraces, AzureCodeHasItsPublishedShape) {
  const std::string path = shared_trace("AzureLLMInferenceTrace_code.csv");
  SKIP_WITHOUT(path);
  const TraceStatistics s = describe_trace(read_trace(find_trace_format("azure"), path), 0);
  EXPECT_EQ(s.requests, 8'819U);
  EXPECT_NEAR(s.span_s / 60, 57, 0.5);
}

// Each later call begins with the blocks of the one before; thinking times are those recorded.
TEST(SharedTraces, AnAgentsSessionReadsAsItsTurns) {
  const std::string path = shared_trace("agentx_excerpt.jsonl");
  SKIP_WITHOUT(path);
  const auto r = read_trace(find_trace_format("weka"), path);
  ASSERT_EQ(r.size(), 4U);
  EXPECT_EQ(r[3].prompt_tokens, 66'880);
  EXPECT_EQ(r[3].turn, 4);
  EXPECT_EQ(r[3].think_ns, 5'072'000'000);
  EXPECT_EQ(r[1].prefix_blocks.front(), r[3].prefix_blocks.front());
  EXPECT_EQ(r[1].prefix_blocks.back(), r[2].prefix_blocks[r[1].prefix_blocks.size() - 1]);
}

// A log of one's own: the same trace by the names of its columns.
TEST(SharedTraces, ColumnsGiveWhatTheirFormatGives) {
  const std::string path = shared_trace("azure_conv_2023.csv");
  SKIP_WITHOUT(path);
  const TraceColumns names{"TIMESTAMP", "ContextTokens", "GeneratedTokens", {}, {}, {}, TimeForm::found};
  const auto a = read_trace(find_trace_format("azure"), path);
  const auto b = read_trace(find_trace_format("columns"), path, {.columns = names});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].arrival_ns, b[i].arrival_ns);
    ASSERT_EQ(a[i].prompt_tokens, b[i].prompt_tokens);
    ASSERT_EQ(a[i].output_tokens, b[i].output_tokens);
  }
}

TEST(SharedTraces, OneFormatIsNotReadAsTheOther) {
  const std::string path = shared_trace("azure_conv_2023.csv");
  SKIP_WITHOUT(path);
  EXPECT_THROW(read_trace(find_trace_format("mooncake"), path), schema::InputError);
  EXPECT_THROW(read_trace(find_trace_format("csv"), path), schema::InputError);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
