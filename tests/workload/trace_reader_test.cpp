#include "models/workload/trace_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

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

// Azure's traces of 2024 write six digits and an offset: 0.993 s, and a clock an hour ahead that says the same.
TEST(TraceReader, AzureTimesOf2024ByHand) {
  const auto r = read("azure",
                      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                      "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                      "2024-05-10 01:00:01.002930+01:00,2399,6\n"
                      "2024-05-09T19:00:02-0500,76,15\n");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[1].arrival_ns, 993'000'000);
  EXPECT_EQ(r[2].arrival_ns, 1'990'070'000);
}

const TraceColumns kNames{
    .arrival = "ts", .prompt = "in", .output = "out", .session = "conv", .parent = {}, .end = "end"};

TEST(TraceReader, ALogMayNameTheBlocksOfPrompts) {
  TraceColumns names{.arrival = "ts", .prompt = "in", .output = "out", .session = {}, .parent = {}, .end = {}};
  names.time = TimeForm::seconds;
  names.blocks = "blocks";
  names.block_tokens = 16;
  const auto r = read("columns",
                      "{\"ts\": 0, \"blocks\": [4, 5], \"in\": 40, \"out\": 5}\n"
                      "{\"ts\": 1, \"in\": 15, \"out\": 5, \"blocks\": []}\n"
                      "{\"ts\": 2, \"in\": 40, \"out\": 5, \"blocks\": [4, 9, 18446744073709551615]}\n",
                      {.columns = names});
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].prefix_blocks, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_TRUE(r[1].prefix_blocks.empty());
  EXPECT_EQ(r[2].prefix_blocks, (std::vector<std::uint64_t>{4, 9, UINT64_MAX}));
}

// The second turn of "a" arrives 3 s after the first was answered, the third while the second is.
TEST(TraceReader, ColumnsOfALogAreNamedByTheReader) {
  const auto r = read("columns",
                      "conv,end,note,out,in,ts\n"
                      "a,2026-01-01T00:00:02Z,\"so, so\",5,100,2026-01-01T00:00:00Z\n"
                      "b,2026-01-01T00:00:04Z,,6,200,2026-01-01T00:00:03Z\n"
                      "\"a\",2026-01-01T00:00:09Z,,7,300,2026-01-01T00:00:05Z\n"
                      "a,2026-01-01T00:00:10Z,,7,300,2026-01-01T00:00:08Z\n"
                      ",2026-01-01T00:00:10Z,,7,300,2026-01-01T00:00:08Z\n",
                      {.columns = kNames});
  ASSERT_EQ(r.size(), 5U);
  EXPECT_EQ(r[1].arrival_ns, 3'000'000'000);
  EXPECT_EQ(r[1].prompt_tokens, 200);
  EXPECT_EQ(r[1].output_tokens, 6);
  EXPECT_EQ(r[0].session, 0);
  EXPECT_EQ(r[0].turn, 1);
  EXPECT_EQ(r[0].think_ns, -1);
  EXPECT_EQ(r[1].session, 1);
  EXPECT_EQ(r[2].session, 0);
  EXPECT_EQ(r[2].turn, 2);
  EXPECT_EQ(r[2].think_ns, 3'000'000'000);
  EXPECT_EQ(r[3].turn, 3);
  EXPECT_EQ(r[3].think_ns, 0);
  EXPECT_EQ(r[4].session, -1);
}

TEST(TraceReader, ALogOfObjectsIsTheSame) {
  const auto r =
      read("columns",
           "{\"ts\": 1700000000123, \"in\": 100, \"out\": 5, \"conv\": \"x\", \"end\": 1700000001123, \"more\": [1]}\n"
           "{\"end\": \"1700000009000\", \"conv\": 7 , \"in\": \"12\", \"out\": 5, \"ts\": 1700000000623.25}\n"
           "{\"ts\": 1700000003123, \"in\": 1, \"out\": 5, \"conv\": \"x\", \"end\": 1700000004123}\n"
           "{\"ts\": 1700000003123, \"in\": 1, \"out\": 5, \"conv\": null, \"end\": 1700000004123}\n",
           {.columns = kNames});
  ASSERT_EQ(r.size(), 4U);
  EXPECT_EQ(r[0].arrival_ns, 0);
  EXPECT_EQ(r[1].arrival_ns, 500'250'000);
  EXPECT_EQ(r[1].prompt_tokens, 12);
  EXPECT_EQ(r[1].session, 1);
  EXPECT_EQ(r[2].session, 0);
  EXPECT_EQ(r[2].think_ns, 2'000'000'000);
  EXPECT_EQ(r[3].session, -1);
}

TEST(TraceReader, WhatALogDoesNotSayOfARequestIsNotRecorded) {
  TraceColumns names = kNames;
  names.parent = "by";
  const auto objects = read("columns",
                            "{\"ts\": 1700000000, \"in\": 100, \"out\": 5, \"conv\": \"x\", \"end\": 1700000001}\n"
                            "{\"ts\": 1700000002, \"in\": 100, \"out\": 5}\n"
                            "{\"ts\": 1700000003, \"in\": 100, \"out\": 5, \"conv\": \"x\"}\n"
                            "{\"ts\": 1700000004, \"in\": 100, \"out\": 5, \"conv\": \"y\", \"by\": \"x\"}\n"
                            "{\"ts\": 1700000005, \"in\": 100, \"out\": 5, \"conv\": \"x\"}\n",
                            {.columns = names});
  const auto rows = read("columns",
                         "ts,in,out,conv,end,by\n1700000000,100,5,x,1700000001,\n1700000002,100,5,,,\n"
                         "1700000003,100,5,x,,\n1700000004,100,5,y,,x\n1700000005,100,5,x,,\n",
                         {.columns = names});
  for (const auto& r : {objects, rows}) {
    ASSERT_EQ(r.size(), 5U);
    EXPECT_EQ(r[1].session, -1);
    EXPECT_EQ(r[2].session, 0);
    EXPECT_EQ(r[2].think_ns, 2'000'000'000);
    EXPECT_EQ(r[2].parent, -1);
    EXPECT_EQ(r[3].parent, 0);
    EXPECT_EQ(r[4].think_ns, -1) << "when the turn before it was answered is not said";
  }
}

// Every unit, found where a time is of this century, said where it is not.
TEST(TraceReader, TimesOfALogAreInAnyUnit) {
  const auto second = [](const std::string& first, const std::string& then, TimeForm form) {
    const TraceColumns names{
        .arrival = "t", .prompt = "i", .output = "o", .session = {}, .parent = {}, .end = {}, .time = form};
    return read("columns", "t,i,o\n" + first + ",1,1\n" + then + ",1,1\n", {.columns = names})[1].arrival_ns;
  };
  EXPECT_EQ(second("1700000000", "1700000000.123456789", TimeForm::found), 123'456'789);
  EXPECT_EQ(second("1700000000000", "1700000000000.5", TimeForm::found), 500'000);
  EXPECT_EQ(second("1700000000000000", "1700000000000001", TimeForm::found), 1'000);
  EXPECT_EQ(second("1700000000000000000", "1700000000000000001", TimeForm::found), 1);
  EXPECT_EQ(second("-1", "1.5e0", TimeForm::seconds), 2'500'000'000);
  EXPECT_EQ(second("10", "12", TimeForm::milliseconds), 2'000'000);
  EXPECT_EQ(second("10", "12", TimeForm::microseconds), 2'000);
  EXPECT_EQ(second("10", "12.4", TimeForm::nanoseconds), 2);
}

TEST(TraceReader, FailedRequestsAreCounted) {
  std::uint64_t left_out = 0;
  TraceOptions options;
  options.left_out = &left_out;
  const auto r =
      read_trace_text(find_trace_format("burstgpt"), "t",
                      "Timestamp,Model,Request tokens,Response tokens\n5,a,1,1\n6,a,1,0\n7,a,1,0\n", options);
  EXPECT_EQ(r.size(), 1U);
  EXPECT_EQ(left_out, 2U);
}

/// Arrivals in ms with prompts and sessions, "0:4:-1 ...".
std::string summary(const std::vector<RequestSpec>& requests) {
  std::string text;
  for (const RequestSpec& r : requests) {
    text += std::to_string(r.arrival_ns / 1'000'000) + ":" + std::to_string(r.prompt_tokens) + ":" +
            std::to_string(r.session) + "." + std::to_string(r.turn) + " ";
  }
  return text;
}

const TraceColumns kLogNames{.arrival = "ts",
                             .prompt = "in",
                             .output = "out",
                             .session = "conv",
                             .parent = {},
                             .end = {},
                             .time = TimeForm::seconds};

// In the order in which requests ended: the second turn of b before its first. Times count from the earliest.
TEST(TraceReader, RequestsInAnyOrderAreSortedByArrivalBeforeAnythingElseIsReadOfThem) {
  const std::string shuffled = "ts,in,out,conv\n9,30,1,b\n7,10,1,a\n8,20,1,b\n7,11,1,c\n";
  const std::string sorted = "ts,in,out,conv\n7,10,1,a\n7,11,1,c\n8,20,1,b\n9,30,1,b\n";
  const auto names = std::optional(kLogNames);
  EXPECT_EQ(summary(read("columns", shuffled, {.columns = names, .sort = true})),
            "0:10:0.1 0:11:1.1 1000:20:2.1 2000:30:2.2 ");
  EXPECT_EQ(summary(read("columns", sorted, {.columns = names})),
            summary(read("columns", shuffled, {.columns = names, .sort = true})));
  EXPECT_EQ(read("columns", shuffled, {.max_requests = 2, .columns = names, .sort = true}).back().prompt_tokens, 11)
      << "the first two that arrive";
}

// Every format of which a line is a request: the last line first.
TEST(TraceReader, EveryFormatOfRequestsIsSorted) {
  const std::string block = R"(, "input_length": 16, "output_length": 1, "hash_ids": [1]})";
  for (const auto& [format, head, first, second] :
       {std::array<std::string, 4>{"csv", "arrival_s,prompt_tokens,output_tokens\n", "0,5,1\n", "1,5,1\n"},
        {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "2023-11-16 18:15:46,5,1\n",
         "2023-11-16 18:15:47,5,1\n"},
        {"burstgpt", "Timestamp,Request tokens,Response tokens\n", "0,5,1\n", "1,5,1\n"},
        {"mooncake", "", "{\"timestamp\": 0" + block + "\n", "{\"timestamp\": 1000" + block + "\n"},
        {"bailian", "", "{\"timestamp\": 0" + block + "\n", "{\"timestamp\": 1" + block + "\n"},
        {"vllm_bench", "", "{\"arrival_time\": -3, \"input_toks\": 1, \"output_toks\": 1}\n",
         "{\"arrival_time\": -2, \"input_toks\": 1, \"output_toks\": 1}\n"}}) {
    const auto sorted = read(format, head + second + first, {.sort = true});
    ASSERT_EQ(sorted.size(), 2U) << format;
    EXPECT_EQ(sorted.front().arrival_ns, 0) << format;
    EXPECT_EQ(sorted.back().arrival_ns, 1'000'000'000) << format;
    EXPECT_NE(error_of(format, head + second + first), "") << format;
  }
  EXPECT_EQ(error_of("weka", "{}\n", {.sort = true}),
            "sort: a line of format weka is a session, in any order, expected a format of which it is a request");
}

// Aborted, without a time, with a column too many; what the first says is kept. A mistake of order is none of these.
TEST(TraceReader, LinesThatAreNoRequestsAreLeftOutAndCounted) {
  const std::string log = "ts,in,out,conv\n1,9,0,a\n2,10,1,a\nsoon,10,1,a\n3,10,1,a,a\n4,20,1,a\n";
  for (const bool sort : {false, true}) {
    std::uint64_t left_out = 0;
    std::string first;
    const TraceOptions options{
        .columns = kLogNames, .left_out = &left_out, .skip_invalid = true, .sort = sort, .first_invalid = &first};
    EXPECT_EQ(summary(read("columns", log, options)), "0:10:0.1 2000:20:0.2 ");
    EXPECT_EQ(left_out, 3U);
    if (!sort) {
      EXPECT_EQ(first, "t:2:5: out is 0, expected 1 to 10000000 tokens");
    }
  }
  EXPECT_EQ(
      error_of("columns", "ts,in,out,conv\n2,9,1,a\n1,9,1,a\n", {.columns = kLogNames, .skip_invalid = true}),
      "t:3:1: ts is 1 s before that of the first request, expected requests in order of arrival, or --sort (sort: "
      "true)");
  EXPECT_EQ(error_of("columns", "ts,in,out,conv\n3,9,1,a\n2,x,1,a\n", {.columns = kLogNames, .sort = true}),
            "t:3:3: in is \"x\", expected a whole number of tokens")
      << "lines keep their numbers";
  EXPECT_NE(error_of("columns", "ts,in,out,conv\n3,9,0,a\n", {.columns = kLogNames, .skip_invalid = true})
                .find("; the first line left out: t:2:5: out is 0"),
            std::string::npos)
      << "nothing is left";
  const std::string long_line = "ts,in,out,conv\n" + std::string(LineReader::max_line_bytes + 9, '1') + "\n2,9,1,a\n";
  EXPECT_EQ(read("columns", long_line, {.columns = kLogNames, .skip_invalid = true}).size(), 1U);
}

TEST(TraceReader, BurstGptSessionsAndFailedRequests) {
  const auto r = read("burstgpt",
                      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                      "5,s1,2.5,ChatGPT,472,18,490,Conversation log\n"
                      "6,,1,GPT-4,100,10,110,API log\n"
                      "8,s1,1,ChatGPT,500,0,500,Conversation log\n"
                      "10,s1,1,ChatGPT,600,7,607,Conversation log\n");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].arrival_ns, 5'000'000'000);
  EXPECT_EQ(r[0].session, 0);
  EXPECT_EQ(r[1].session, -1);
  EXPECT_EQ(r[2].turn, 2);
  EXPECT_EQ(r[2].think_ns, 2'500'000'000);
  const auto old = read("burstgpt", "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n");
  EXPECT_EQ(old[0].session, -1);
}

// Chat 3 goes on from 1, chat 4 from 3; what 5 goes on from is before the trace's start.
TEST(TraceReader, BailianChatsAreTurnsOfASession) {
  const auto line = [](int chat, int parent, int turn) {
    return "{\"chat_id\":" + std::to_string(chat) + ",\"parent_chat_id\":" + std::to_string(parent) +
           ",\"timestamp\":1,\"input_length\":16,\"output_length\":3,\"turn\":" + std::to_string(turn) +
           ",\"hash_ids\":[1]}\n";
  };
  const auto r = read("bailian", line(1, -1, 1) + line(2, -1, 1) + line(3, 1, 2) + line(4, 3, 3) + line(5, 99, 4));
  ASSERT_EQ(r.size(), 5U);
  EXPECT_EQ(r[0].session, 0);
  EXPECT_EQ(r[1].session, 1);
  EXPECT_EQ(r[2].session, 0);
  EXPECT_EQ(r[3].session, 0);
  EXPECT_EQ(r[3].turn, 3);
  EXPECT_EQ(r[4].session, 2);
  EXPECT_EQ(r[4].turn, 4);
}

// Two sessions that begin at once: their calls come in order of time, and their blocks of the same number differ.
TEST(TraceReader, WekaSessionsAreMerged) {
  const auto r =
      read("weka",
           "{\"id\":\"a\",\"block_size\":64,\"requests\":["
           "{\"t\":0,\"in\":64,\"out\":2,\"hash_ids\":[0],\"api_time\":1.5,\"type\":\"s\"},"
           "{\"t\":5,\"in\":130,\"out\":3,\"hash_ids\":[0,1,2],\"api_time\":1,\"think_time\":3.25,\"type\":\"n\"}]}\n"
           "{\"id\":\"b\",\"block_size\":64,\"requests\":[{\"t\":1,\"in\":64,\"out\":4,\"hash_ids\":[0]},"
           "{\"t\":2,\"in\":64,\"out\":4,\"hash_ids\":[0]}]}\n");
  ASSERT_EQ(r.size(), 4U);
  EXPECT_EQ(r[1].arrival_ns, 1'000'000'000);
  EXPECT_EQ(r[1].session, 1);
  EXPECT_EQ(r[2].think_ns, -1);
  EXPECT_EQ(r[3].session, 0);
  EXPECT_EQ(r[3].turn, 2);
  EXPECT_EQ(r[3].think_ns, 3'250'000'000);
  EXPECT_EQ(r[0].prefix_blocks[0], r[3].prefix_blocks[0]);
  EXPECT_EQ(r[1].prefix_blocks[0], r[2].prefix_blocks[0]);
  EXPECT_NE(r[0].prefix_blocks[0], r[1].prefix_blocks[0]);
}

// The parent's first turn ends at 12 s and begins two sub-agents, at 13 s (until 18 s, by its duration) and 14 s (its
// last call is sent at 14 + 3 s and takes 4 s); it goes on at 25 s, 4 s after the last of them. A sub-agent of the
// second one begins at 14 + 2 s, 1 s after that one's first call. Ids are of the line, whoever has them.
TEST(TraceReader, WekaSubAgentsAreSessionsThatTheirParentsTurnBegins) {
  const auto r =
      read("weka",
           "{\"requests\":[{\"t\":10,\"in\":64,\"out\":2,\"hash_ids\":[7],\"api_time\":2},"
           "{\"t\":13,\"type\":\"subagent\",\"duration_ms\":5000,\"requests\":["
           "{\"t\":0,\"in\":64,\"out\":3,\"hash_ids\":[8],\"api_time\":1,\"think_time\":0},"
           "{\"t\":2.5,\"in\":64,\"out\":4,\"hash_ids\":[8],\"think_time\":1.25}]},"
           "{\"type\":\"subagent\",\"requests\":[{\"t\":0,\"in\":64,\"out\":5,\"hash_ids\":[8],\"api_time\":1},"
           "{\"t\":2,\"type\":\"subagent\",\"requests\":[{\"t\":0,\"in\":64,\"out\":9,\"api_time\":0.5}]},"
           "{\"t\":3,\"in\":64,\"out\":6,\"hash_ids\":[7],\"api_time\":4}],\"t\":14},"
           "{\"t\":25,\"in\":64,\"out\":7,\"think_time\":9}]}\n");
  constexpr std::int64_t s = 1'000'000'000;
  struct Expected {
    std::int64_t arrival_ns, output, think_ns;
    std::int32_t session, turn, parent;
  };
  const Expected expected[] = {{10 * s, 2, -1, 0, 1, -1},   {13 * s, 3, 1 * s, 1, 1, 0},
                               {14 * s, 5, 2 * s, 2, 1, 0}, {31 * s / 2, 4, 5 * s / 4, 1, 2, 0},
                               {16 * s, 9, 1 * s, 3, 1, 2}, {17 * s, 6, s / 2, 2, 2, 0},
                               {25 * s, 7, 4 * s, 0, 2, -1}};
  ASSERT_EQ(r.size(), std::size(expected));
  for (std::size_t i = 0; i < r.size(); ++i) {
    EXPECT_EQ(r[i].arrival_ns, expected[i].arrival_ns) << i;
    EXPECT_EQ(r[i].output_tokens, expected[i].output) << i;
    EXPECT_EQ(r[i].think_ns, expected[i].think_ns) << i;
    EXPECT_EQ(r[i].session, expected[i].session) << i;
    EXPECT_EQ(r[i].turn, expected[i].turn) << i;
    EXPECT_EQ(r[i].parent, expected[i].parent) << i;
  }
  EXPECT_EQ(r[1].prefix_blocks, r[2].prefix_blocks);
  EXPECT_EQ(r[0].prefix_blocks, r[5].prefix_blocks);
}

// The second request was cut; the third begins 5 s after the first was answered.
TEST(TraceReader, WekaRequestsWithoutOutputAreLeftOutAndCounted) {
  std::uint64_t left_out = 0;
  const auto r = read("weka",
                      "{\"requests\":[{\"t\":0,\"in\":64,\"out\":2,\"api_time\":1},"
                      "{\"t\":2,\"in\":64,\"out\":0,\"think_time\":1},"
                      "{\"t\":6,\"in\":64,\"out\":3,\"think_time\":3}]}\n"
                      "{\"requests\":[{\"t\":1,\"in\":64,\"out\":0}]}\n"
                      "{\"requests\":[{\"t\":1,\"in\":64,\"out\":4}]}\n",
                      {.left_out = &left_out});
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(left_out, 2U);
  EXPECT_EQ(r[1].session, 1) << "the session of which nothing is left has no number";
  EXPECT_EQ(r[2].turn, 2);
  EXPECT_EQ(r[2].think_ns, 5'000'000'000);
}

TEST(TraceReader, AFolderOfSessionsIsOneTrace) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("kvsim_folder_{}", ::getpid());
  fs::create_directories(folder);
  const auto put = [&](const char* name, const char* text) { std::ofstream(folder / name) << text; };
  put("b.json", "{\"requests\":[{\"t\":0,\"in\":64,\"out\":2}]}");  // no line end: the file's is one
  put("a.json", "{\"requests\":[{\"t\":1,\"in\":64,\"out\":1}]}\n");
  put(".hidden", "nonsense");
  const TraceFormat& weka = find_trace_format("weka");
  const auto r = read_trace(weka, folder.string());
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[0].output_tokens, 2);
  EXPECT_EQ(r[0].session, 1);
  EXPECT_EQ(r[1].session, 0);
  put("c.json", "{\"requests\":[{\"t\":1,\"in\":64}]}\n");
  const auto error = [&](const char* format) {
    try {
      static_cast<void>(read_trace(find_trace_format(format), folder.string()));
    } catch (const schema::InputError& e) {
      return std::string(e.what());
    }
    return std::string("read");
  };
  EXPECT_NE(error("weka").find("c.json:1:14: out is missing"), std::string::npos) << error("weka");
  EXPECT_NE(error("mooncake").find("is a directory"), std::string::npos) << error("mooncake");
  fs::remove_all(folder);
  fs::create_directories(folder);
  EXPECT_NE(error("weka").find("is an empty folder, expected a weka trace"), std::string::npos) << error("weka");
  fs::remove_all(folder);
}

// The session begins at 2 s; its tools take 1 s after the first call and none after the second.
TEST(TraceReader, LlmServingSimSessionsArriveAsTheirToolsAreDone) {
  const auto r =
      read("llmservingsim",
           "{\"session_id\":\"x\",\"arrival_time_ns\":2000000000,\"sub_requests\":["
           "{\"input_toks\":10,\"output_toks\":1,\"tool_duration_ns\":1000000000},"
           "{\"input_toks\":20,\"output_toks\":2,\"tool_duration_ns\":0}]}\n"
           "{\"session_id\":\"y\",\"sub_requests\":[{\"input_toks\":30,\"output_toks\":3}],\"arrival_time_ns\":0}\n");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].prompt_tokens, 30);
  EXPECT_EQ(r[0].session, 1);
  EXPECT_EQ(r[1].arrival_ns, 2'000'000'000);
  EXPECT_EQ(r[2].arrival_ns, 3'000'000'000);
  EXPECT_EQ(r[2].turn, 2);
  EXPECT_EQ(r[2].think_ns, 1'000'000'000);
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
