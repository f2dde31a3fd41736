#include "planner/traffic/trace_writer.h"

#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "tests/traffic/traffic_support.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

using models::RequestSpec;

std::vector<RequestSpec> read_back(std::string_view format, const std::vector<RequestSpec>& requests,
                                   std::int64_t block_tokens = 0) {
  TraceWriter writer(format, block_tokens);
  std::string text = writer.header();
  for (const RequestSpec& r : requests) text += writer.line(r);
  return models::read_trace_text(models::find_trace_format(format), "t", text);
}

RequestSpec request(std::uint64_t id, std::int64_t arrival_ns, std::int64_t prompt,
                    std::vector<std::uint64_t> blocks = {}) {
  return {.id = id,
          .arrival_ns = arrival_ns,
          .prompt_tokens = prompt,
          .output_tokens = 7,
          .prefix_blocks = std::move(blocks)};
}

TEST(TraceWriter, WhatIsWrittenIsReadBackInEveryFormat) {
  const std::vector<RequestSpec> requests{request(0, 0, 100), request(1, 1'234'567'800, 2'000),
                                          request(2, 86'400'000'000'100, 1)};
  for (const std::string_view format : TraceWriter::written_formats()) {
    const auto read = read_back(format, requests);
    ASSERT_EQ(read.size(), 3U) << format;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(read[i].arrival_ns, requests[i].arrival_ns) << format;
      EXPECT_EQ(read[i].prompt_tokens, requests[i].prompt_tokens) << format;
      EXPECT_EQ(read[i].output_tokens, 7) << format;
    }
  }
}

// Blocks of 256: the first two prompts share 512 tokens, the third the first 256 of them. In blocks of 512 the first is
// shared by two; in those of 16, 32 and 16.
TEST(TraceWriter, BlocksOfAnotherSizeShareWhatTheRequestsDo) {
  const std::vector<RequestSpec> requests{request(0, 0, 1024, {1, 2, 3, 4}), request(1, 0, 800, {1, 2, 5, 6}),
                                          request(2, 0, 600, {1, 7, 8})};
  const auto shared = [&](std::string_view format, std::size_t a, std::size_t b) {
    const auto read = read_back(format, requests, 256);
    std::size_t n = 0;
    while (n < read[a].prefix_blocks.size() && n < read[b].prefix_blocks.size() &&
           read[a].prefix_blocks[n] == read[b].prefix_blocks[n]) {
      ++n;
    }
    return n;
  };
  EXPECT_EQ(shared("mooncake", 0, 1), 1U);
  EXPECT_EQ(shared("mooncake", 0, 2), 0U);
  EXPECT_EQ(shared("bailian", 0, 1), 32U);
  EXPECT_EQ(shared("bailian", 0, 2), 16U);
}

TEST(TraceWriter, SessionsAreKeptWhereTheFormatHasThem) {
  std::vector<RequestSpec> requests{request(0, 0, 16), request(1, 1, 16), request(2, 2, 16), request(3, 3, 16)};
  for (const std::size_t i : {0U, 2U, 3U}) {
    requests[i].session = 0;
    requests[i].turn = i == 0 ? 1 : static_cast<std::int32_t>(i);
  }
  const auto bailian = read_back("bailian", requests), burst = read_back("burstgpt", requests);
  EXPECT_EQ(bailian[2].session, bailian[0].session);
  EXPECT_EQ(bailian[3].session, bailian[0].session);
  EXPECT_EQ(bailian[3].turn, 3);
  EXPECT_NE(bailian[1].session, bailian[0].session);
  EXPECT_EQ(burst[3].session, 0);
  EXPECT_EQ(burst[1].session, -1);
}

TEST(TraceWriter, WhatCannotBeWrittenIsRefusedWithWhy) {
  const auto refused = [](std::string_view format) -> std::string {
    try {
      TraceWriter(format, 0);
    } catch (const schema::InputError& e) {
      return e.what();
    }
    return "(written)";
  };
  EXPECT_EQ(refused("columns"), "format columns has no names of its own: write csv");
  EXPECT_EQ(refused("weka"),
            "format weka has a session a line, and how long each call took: write bailian, which keeps sessions");
  EXPECT_EQ(refused("moncake"), "unknown trace format \"moncake\"; did you mean \"mooncake\"?");
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
