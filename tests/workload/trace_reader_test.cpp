#include "models/workload/trace_reader.h"

#include <gtest/gtest.h>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

std::vector<RequestSpec> read(std::string_view format, std::string_view text, const TraceOptions& options = {}) {
  return read_trace_text(find_trace_format(format), "t", text, options);
}

TEST(TraceReader, MooncakeLineByHand) {
  // 1,500 ms = 1.5e9 ns; 1,025 tokens fill two blocks of 512 and begin a third.
  const auto r = read("mooncake",
                      "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [7]}\n"
                      "{\"hash_ids\":[0,46,18446744073709551615],\"output_length\":500,\"type\":{\"a\":[1]},"
                      "\"input_length\":1025,\"timestamp\":1500}\n");
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[0].id, 0U);
  EXPECT_EQ(r[0].arrival_ns, 0);
  EXPECT_EQ(r[0].prefix_blocks, (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(r[1].id, 1U);
  EXPECT_EQ(r[1].arrival_ns, 1'500'000'000);
  EXPECT_EQ(r[1].prompt_tokens, 1'025);
  EXPECT_EQ(r[1].output_tokens, 500);
  EXPECT_EQ(r[1].prefix_blocks, (std::vector<std::uint64_t>{0, 46, 18446744073709551615U}));
}

TEST(TraceReader, AzureLinesByHand) {
  // 18:15:50.9951690 - 18:15:46.6805900 = 4.314579 s; midnight of the next day is 20,653.31941 s after the first.
  const auto r = read("azure",
                      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                      "2023-11-16 18:15:46.6805900,374,44\r\n"
                      "2023-11-16 18:15:50.9951690,396,109\r\n"
                      "2023-11-17T00:00:00+00:00,2,7");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].arrival_ns, 0);
  EXPECT_EQ(r[0].prompt_tokens, 374);
  EXPECT_EQ(r[0].output_tokens, 44);
  EXPECT_EQ(r[1].arrival_ns, 4'314'579'000);
  EXPECT_EQ(r[2].arrival_ns, 20'653'319'410'000);
  EXPECT_TRUE(r[2].prefix_blocks.empty());
}

TEST(TraceReader, CsvColumnsInAnyOrderWithOthersBetween) {
  const auto r = read("csv", "user, output_tokens ,arrival_s,prompt_tokens\na,5,0.25, 100\nb,6,1e1,200 \n");
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[0].arrival_ns, 250'000'000);
  EXPECT_EQ(r[0].prompt_tokens, 100);
  EXPECT_EQ(r[0].output_tokens, 5);
  EXPECT_EQ(r[1].arrival_ns, 10'000'000'000);
  EXPECT_EQ(r[1].prompt_tokens, 200);
}

// Bailian ids are of a block's own content: the same block after another prefix must not count as the same prefix.
TEST(TraceReader, BailianIdsBecomeChained) {
  const auto r =
      read("bailian",
           "{\"chat_id\":1,\"timestamp\":0.5,\"input_length\":32,\"output_length\":3,\"hash_ids\":[10,11]}\n"
           "{\"chat_id\":2,\"timestamp\":0.5,\"input_length\":40,\"output_length\":3,\"hash_ids\":[10,11,12]}\n"
           "{\"chat_id\":3,\"timestamp\":61.114,\"input_length\":33,\"output_length\":3,\"hash_ids\":[9,11]}\n");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].arrival_ns, 500'000'000);
  EXPECT_EQ(r[2].arrival_ns, 61'114'000'000);
  EXPECT_EQ(r[0].prefix_blocks[0], r[1].prefix_blocks[0]);
  EXPECT_EQ(r[0].prefix_blocks[1], r[1].prefix_blocks[1]);
  EXPECT_NE(r[0].prefix_blocks[1], r[2].prefix_blocks[1]);
}

TEST(TraceReader, VllmBenchTimesCountFromTheFirstArrival) {
  const auto r = read("vllm_bench",
                      "{\"request_id\": \"a\", \"input_toks\": 12, \"output_toks\": 3, \"arrival_time\": "
                      "1777142838.25, \"queued_ts\": 1.5}\n"
                      "{\"arrival_time\": 1777142840, \"output_toks\": 7, \"input_toks\": 500}\n");
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[0].arrival_ns, 0);
  EXPECT_EQ(r[0].prompt_tokens, 12);
  EXPECT_EQ(r[0].output_tokens, 3);
  EXPECT_EQ(r[1].arrival_ns, 1'750'000'000);
  EXPECT_EQ(r[1].prompt_tokens, 500);
  EXPECT_TRUE(r[1].prefix_blocks.empty());
}

TEST(TraceReader, StopsAfterTheRequestedNumber) {
  const std::string_view text = "arrival_s,prompt_tokens,output_tokens\n0,1,1\n1,1,1\nbroken\n";
  EXPECT_EQ(read("csv", text, {.max_requests = 2}).size(), 2U);
  EXPECT_EQ(error_of("csv", text, {.max_requests = 3}), "t:4:7: the line has 1 column, expected 3 as in the header");
}

TEST(TraceReader, TimeScaleStretchesArrivals) {
  const auto r = read("csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\n10,1,1\n", {.time_scale = 0.5});
  EXPECT_EQ(r[1].arrival_ns, 5'000'000'000);
  EXPECT_EQ(error_of("csv", "", {.time_scale = 0}), "time_scale is 0, expected 1e-06 to 1000000");
}

TEST(TraceFormats, EveryFormatIsFoundByItsName) {
  for (const TraceFormat& f : trace_formats()) {
    EXPECT_EQ(find_trace_format(f.name).name, f.name);
    EXPECT_FALSE(f.description.empty());
    EXPECT_NE(f.read, nullptr);
  }
}

TEST(TraceFormats, AMisspeltNameGetsTheNearest) {
  EXPECT_EQ(failure_of([] { find_trace_format("moncake"); }),
            "unknown trace format \"moncake\"; did you mean \"mooncake\"?");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
