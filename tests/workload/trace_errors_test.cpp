// What users see when a trace is not as it should be: the exact words, at the exact place.
#include <gtest/gtest.h>

#include <string>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

const std::string csv_head = "arrival_s,prompt_tokens,output_tokens\n";
const std::string azure_head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
constexpr std::string_view cut_off = " (the last line has no line end: the file may be cut off)";

std::string mooncake(std::string_view timestamp, std::string_view input, std::string_view output,
                     std::string_view ids) {
  return "{\"timestamp\": " + std::string(timestamp) + ", \"input_length\": " + std::string(input) +
         ", \"output_length\": " + std::string(output) + ", \"hash_ids\": " + std::string(ids) + "}\n";
}

TEST(TraceErrors, EmptyFiles) {
  EXPECT_EQ(error_of("mooncake", ""),
            "t: has no requests, expected a mooncake trace (JSON lines: timestamp (ms), input_length, output_length, "
            "hash_ids of 512-token blocks)");
  EXPECT_EQ(error_of("azure", "\n\n"),
            "t: is empty, expected a header with the columns TIMESTAMP, ContextTokens, GeneratedTokens");
  EXPECT_EQ(error_of("csv", csv_head),
            "t: has no requests, expected a csv trace (CSV: arrival_s, prompt_tokens, output_tokens)");
}

TEST(TraceErrors, MissingAndDoubleColumns) {
  EXPECT_EQ(error_of("azure", "TIMESTAMP,GeneratedTokens\n"),
            "t:1:1: the column ContextTokens is missing, expected a header with the columns TIMESTAMP, ContextTokens, "
            "GeneratedTokens; found TIMESTAMP, GeneratedTokens");
  EXPECT_EQ(error_of("csv", "arrival_s,prompt_tokens,output_tokens,arrival_s\n"),
            "t:1:39: the column arrival_s is there twice, expected it once");
  EXPECT_EQ(error_of("csv", csv_head + "0,1,2,3\n"), "t:2:7: the line has 4 columns, expected 3 as in the header");
}

TEST(TraceErrors, TornLastLines) {
  EXPECT_EQ(error_of("csv", csv_head + "0,1,1\n1,2"),
            "t:3:4: the line has 2 columns, expected 3 as in the header" + std::string(cut_off));
  const std::string whole = mooncake("0", "512", "9", "[1]");
  const std::string shape =
      "the line is not a complete JSON object, expected one request with timestamp, input_length, output_length and "
      "hash_ids";
  // Wherever the second line ends, the message says so; at its very end nothing is missing but the line end.
  for (std::size_t bytes = 1; bytes + 2 < whole.size(); ++bytes) {
    const std::string message = error_of("mooncake", whole + whole.substr(0, bytes));
    EXPECT_EQ(message.substr(0, 4), "t:2:") << bytes;
    EXPECT_NE(message.find(cut_off), std::string::npos) << bytes << " " << message;
  }
  EXPECT_EQ(error_of("mooncake", whole + whole.substr(0, whole.size() - 1)), "(read)");
  EXPECT_EQ(error_of("mooncake", whole + "{\"timestamp\": 0, \"input_length\": 512"),
            "t:2:37: " + shape + std::string(cut_off));
}

TEST(TraceErrors, NotAnObject) {
  const std::string shape =
      "the line is not a complete JSON object, expected one request with timestamp, input_length, "
      "output_length and hash_ids";
  EXPECT_EQ(error_of("mooncake", "[1]\n"), "t:1:1: " + shape);
  EXPECT_EQ(error_of("mooncake", "timestamp,input_length\n"), "t:1:1: " + shape);
  EXPECT_EQ(error_of("mooncake", "{\"timestamp\" 0}\n"), "t:1:14: " + shape);
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "1", "[1]").substr(0, 72) + "} {}\n").substr(0, 4), "t:1:");
  std::string two = mooncake("0", "1", "1", "[1]");
  two.back() = ' ';
  EXPECT_EQ(error_of("mooncake", two + "{}\n"),
            "t:1:74: there is more after the JSON object, expected one request a line");
}

TEST(TraceErrors, WrongTypes) {
  EXPECT_EQ(error_of("mooncake", mooncake("\"now\"", "1", "1", "[1]")),
            "t:1:15: timestamp is \"now\", expected a number, the time since the start");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "\"12\"", "1", "[1]")),
            "t:1:34: input_length is \"12\", expected a whole number of tokens");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "1.5", "[1]")),
            "t:1:54: output_length is 1.5, expected a whole number of tokens");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "null", "[1]")),
            "t:1:54: output_length is null, expected a whole number of tokens");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "[1]", "[1]")),
            "t:1:54: output_length is a list, expected a whole number of tokens");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "99999999999999999999", "[1]")),
            "t:1:54: output_length is 99999999999999999999, expected a whole number of tokens");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "1", "3")),
            "t:1:69: hash_ids is 3, expected a list of block numbers");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "1", "[-3]")),
            "t:1:70: an entry of hash_ids is -3, expected a whole number, 0 or more");
  EXPECT_EQ(error_of("csv", csv_head + "0,ten,1\n"),
            "t:2:3: prompt_tokens is \"ten\", expected a whole number of tokens");
  EXPECT_EQ(error_of("csv", csv_head + "soon,1,1\n"),
            "t:2:1: arrival_s is \"soon\", expected a number of seconds since the start");
  EXPECT_EQ(error_of("csv", csv_head + "0,1,\n"), "t:2:5: output_tokens is \"\", expected a whole number of tokens");
  EXPECT_EQ(error_of("azure", azure_head + "2023-13-16 18:15:46.68,1,1\n"),
            "t:2:1: TIMESTAMP is \"2023-13-16 18:15:46.68\", expected a time such as 2023-11-16 18:15:46.6805900");
  EXPECT_EQ(error_of("azure", azure_head + "2023-02-29 18:15:46,1,1\n").substr(0, 6), "t:2:1:");
}

TEST(TraceErrors, MissingAndDoubleKeys) {
  EXPECT_EQ(error_of("mooncake", "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1]}\n"),
            "t:1:1: output_length is missing, expected timestamp, input_length, output_length and hash_ids");
  EXPECT_EQ(error_of("mooncake", "{\"timestamp\": 0, \"timestamp\": 1}\n"),
            "t:1:31: timestamp is there twice, expected it once");
}

TEST(TraceErrors, OfVllmBenchNameItsOwnKeys) {
  const std::string first = "{\"arrival_time\": 10, \"input_toks\": 1, \"output_toks\": 1}\n";
  EXPECT_EQ(error_of("vllm_bench", "{\"arrival_time\": 10, \"input_toks\": 1}\n"),
            "t:1:1: output_toks is missing, expected arrival_time, input_toks and output_toks");
  EXPECT_EQ(error_of("vllm_bench", "{\"arrival_time\": \"now\", \"input_toks\": 1, \"output_toks\": 1}\n"),
            "t:1:18: arrival_time is \"now\", expected a number, seconds on any clock");
  EXPECT_EQ(error_of("vllm_bench", "{\"arrival_time\": 10, \"input_toks\": 0, \"output_toks\": 1}\n"),
            "t:1:36: input_toks is 0, expected 1 to 10000000 tokens, or --skip-invalid (skip_invalid: true)");
  EXPECT_EQ(error_of("vllm_bench", first + "{\"arrival_time\": 9, \"input_toks\": 1, \"output_toks\": 1}\n"),
            "t:2:18: the request arrives before the first one, expected requests in order of arrival, or --sort (sort: "
            "true)");
}

/// With these names of columns.
std::string log_error(std::string_view text, TimeForm time = TimeForm::seconds) {
  const TraceColumns names{
      .arrival = "ts", .prompt = "in", .output = "out", .session = "conv", .parent = {}, .end = "end", .time = time};
  return error_of("columns", text, {.columns = names});
}

TEST(TraceErrors, OfBlocksInALogNameThem) {
  TraceColumns names{.arrival = "ts", .prompt = "in", .output = "out", .session = {}, .parent = {}, .end = {}};
  names.time = TimeForm::seconds;
  names.blocks = "ids";
  const auto error = [&](std::string_view text) { return error_of("columns", text, {.columns = names}); };
  EXPECT_EQ(error("{}"), "t: columns: blocks are of a size: give block_size too");
  names.block_tokens = 16;
  const auto line = [&](const std::string& ids) { return error("{\"ts\": 1, \"in\": 20, \"out\": 1" + ids + "}\n"); };
  EXPECT_EQ(line(""), "t:1:1: ids is missing, expected an object with ts, in, out, ids");
  EXPECT_EQ(line(", \"ids\": 7"), "t:1:38: ids is 7, expected a list of block numbers");
  EXPECT_EQ(line(", \"ids\": [1, -7]"), "t:1:42: an entry of ids is -7, expected a whole number, 0 or more");
  EXPECT_EQ(line(", \"ids\": [1], \"ids\": [1]"), "t:1:50: ids is there twice, expected it once");
  EXPECT_EQ(line(", \"ids\": [1, 2, 3]"),
            "t:1:38: ids has 3 blocks, expected at most 2 of 16 tokens for a prompt of 20");
  EXPECT_EQ(error("ts,in,out,ids\n1,2,3,4\n"), "t:1:1: is CSV, which has no lists, expected JSON lines for blocks");
  names.blocks.clear();
  EXPECT_EQ(error("{}"), "t: columns: block_size is of blocks: name blocks too");
}

TEST(TraceErrors, OfALogNameItsColumns) {
  const std::string head = "ts,in,out,conv,end\n";
  EXPECT_EQ(log_error(""), "t: is empty, expected CSV with a header, or JSON lines");
  EXPECT_EQ(log_error("ts,in,out,user,end\n"),
            "t:1:1: the column conv is missing, expected a header with the columns ts, in, out, conv, end; found ts, "
            "in, out, user, end");
  EXPECT_EQ(log_error("\"ts\";\"in\";\"out\";\"conv\";\"end\"\n"),
            "t:1:1: the column ts is missing, expected a header with the columns ts, in, out, conv, end; found the "
            "separator \";\" in \"ts\";\"in\";\"out\";\"conv\";\"end\", expected commas");
  EXPECT_EQ(log_error("{\"ts\": 1, \"in\": 1, \"conv\": 1, \"end\": 2}\n"),
            "t:1:1: out is missing, expected an object with ts, in, out");
  EXPECT_EQ(log_error("{\"ts\": 1, \"in\": [1], \"out\": 1, \"conv\": 1, \"end\": 2}\n"),
            "t:1:17: in is a list, expected a number or text");
  EXPECT_EQ(log_error(head + "1,-5,1,a,2\n"), "t:2:3: in is -5, expected 1 to 10000000 tokens");
  EXPECT_EQ(log_error(head + "1,5,one,a,2\n"), "t:2:5: out is \"one\", expected a whole number of tokens");
  EXPECT_EQ(log_error(head + "9,5,1,a,9\n8.5,5,1,b,9\n"),
            "t:3:1: ts is 0.5 s before that of the first request, expected requests in order of arrival, or --sort "
            "(sort: true)");
  EXPECT_EQ(
      log_error(head + "7,5,1,a,9\n9,5,1,a,9\n8.5,5,1,b,9\n"),
      "t:4:1: the request arrives 1.5 s after the start, 0.5 s before the one above it, expected requests in order "
      "of arrival, or --sort (sort: true)");
  EXPECT_EQ(
      log_error(head + "9,5,1,a,8.5\n"),
      "t:2:9: end is 0.5 s before ts: session \"a\" ends before it begins, expected the time at which the request was "
      "answered");
  EXPECT_EQ(log_error(head + "9,5,1,\"a,8.5\n"),
            "t:2:7: a quote begins here that does not end in this line, expected its end");
  EXPECT_EQ(log_error(head + "soon,5,1,a,9\n"), "t:2:1: ts is \"soon\", expected a number, the time");
  EXPECT_EQ(log_error(head + "2026-01-01 00:00:00,5,1,a,9\n", TimeForm::found),
            "t:2:27: end is \"9\", expected a date such as 2023-11-16T18:15:46.68Z");
}

TEST(TraceErrors, OfSubAgentsNameTheirParents) {
  const auto error = [](const std::string& rows) {
    const TraceColumns names{"ts", "in", "out", "conv", "by", {}, TimeForm::seconds};
    return error_of("columns", "ts,in,out,conv,by\n" + rows, {.columns = names});
  };
  EXPECT_EQ(error("1,5,1,a,\n2,5,1,b,a\n3,5,1,c,b\n4,5,1,,null\n"), "(read)");
  EXPECT_EQ(error("1,5,1,a,\n2,5,1,b,c\n"),
            "t:3:9: by is \"c\", of which no request came before, expected a session that has begun");
  EXPECT_EQ(error("1,5,1,a,a\n"), "t:2:9: by is \"a\", the session itself, expected another one, or nothing");
  EXPECT_EQ(error("1,5,1,a,\n2,5,1,,a\n"),
            "t:3:8: by is \"a\" where conv is empty, expected the session that it began");
  // The first request of a session says it, and later ones may.
  EXPECT_EQ(error("1,5,1,a,\n2,5,1,b,a\n3,5,1,b,\n4,5,1,b,a\n"), "(read)");
  EXPECT_EQ(
      error("1,5,1,a,\n2,5,1,b,\n3,5,1,b,a\n"),
      "t:4:9: by is \"a\", which the first request of session \"b\" does not say, expected the session that began "
      "it there");
  EXPECT_EQ(error("1,5,1,a,\n1,5,1,c,\n2,5,1,b,a\n3,5,1,b,c\n").substr(0, 16), "t:5:9: by is \"c\"");
  EXPECT_EQ(problem_with(TraceColumns{"a", "b", "c", {}, "d", {}, TimeForm::found}),
            "parent is the session whose turn began another: name session too");
}

TEST(TraceErrors, AMemberThatNoRequestHasIsMisspelt) {
  const auto error = [](const std::string& lines, std::uint64_t max_requests = 0) {
    const TraceColumns names{"ts", "in", "out", "conv", "parnt", {}, TimeForm::seconds};
    return error_of("columns", lines, {.max_requests = max_requests, .columns = names});
  };
  const std::string with = R"({"ts": 1, "in": 1, "out": 1, "conv": "a", "parnt": null})", line = "\n";
  const std::string other = R"({"ts": 1, "in": 1, "out": 1, "conv": "a", "parent": null})";
  EXPECT_EQ(error(other + line + with + line), "(read)");
  EXPECT_EQ(error(other + line + other + line),
            "t: none of the requests read has the member parnt; did you mean \"parent\"?");
  EXPECT_EQ(error(other + line + with + line, 1).substr(0, 40), "t: none of the requests read has the mem");
  EXPECT_EQ(error(R"({"ts": 1, "in": 1, "out": 1, "parnt": null})" + line),
            "t: none of the requests read has the member conv; expected one of ts, in, out, parnt");
}

// Session a ends at 3 s, its sub-agent b at 9 s, and b's own c at 12 s.
TEST(SessionTurns, APauseCountsFromTheEndOfAllSubAgents) {
  SessionTurns turns;
  constexpr std::int64_t second = 1'000'000'000;
  EXPECT_EQ(turns.next("a", 0, 3 * second).think_ns, -1);
  const auto b = turns.next_of("a", "b", 4 * second, 9 * second);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->parent, 0);
  EXPECT_EQ(b->think_ns, 1 * second) << "after the turn that began it";
  EXPECT_EQ(turns.next_of("b", "c", 10 * second, 12 * second)->think_ns, 1 * second);
  EXPECT_EQ(turns.next_of("a", "d", 5 * second, 6 * second)->think_ns, 2 * second);
  EXPECT_EQ(turns.next("a", 20 * second, 21 * second).think_ns, 8 * second);
  EXPECT_EQ(turns.next("a", 25 * second, 26 * second).think_ns, 4 * second) << "they are over";
  EXPECT_FALSE(turns.next_of("nobody", "e", 30 * second, -1));
}

TEST(TraceErrors, UnitsOfALogAreNotGuessed) {
  const std::string head = "ts,in,out,conv,end\n";
  EXPECT_EQ(log_error(head + "12.5,5,1,a,9\n", TimeForm::found),
            "t:2:1: ts is 12.5, which is no time since 1970 in this century, expected the unit of times beside the "
            "columns: time: s, ms, us or ns");
  EXPECT_EQ(log_error(head + "noon,5,1,a,9\n", TimeForm::found),
            "t:2:1: ts is \"noon\", expected a date such as 2023-11-16T18:15:46.68Z, or time since 1970");
  EXPECT_EQ(error_of("columns", head), "t: is a log of any form, expected the names of its columns");
  EXPECT_EQ(error_of("csv", csv_head, {.columns = TraceColumns{"a", "b", "c", {}, {}, {}, TimeForm::found}}),
            "columns: format csv has its own, use format columns");
  EXPECT_EQ(problem_with(TraceColumns{"a", "b", "a", {}, {}, {}, TimeForm::found}),
            "\"a\" is named twice, expected a column for each");
  EXPECT_EQ(problem_with(TraceColumns{"a", "b", "c", {}, {}, "e", TimeForm::found}),
            "end tells how long somebody thinks between turns of a session: name session too");
  EXPECT_EQ(problem_with(TraceColumns{"a", "", "c", {}, {}, {}, TimeForm::found}),
            "expected the names of arrival, prompt and output");
}

TEST(TraceErrors, SessionsThatEndBeforeTheyBegin) {
  EXPECT_EQ(error_of("burstgpt", "Timestamp,Session ID,Elapsed time,Request tokens,Response tokens\n5,s,-2,4,1\n"),
            "t:2:5: Elapsed time is -2: session \"s\" ends before it begins, expected 0 s or more");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":0,\"in\":64,\"out\":2,\"api_time\":-1}]}\n"),
            "t:1:48: api_time is -1: the session ends before it begins, expected 0 or more");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":3,\"in\":64,\"out\":2},{\"t\":2,\"in\":64,\"out\":2}]}\n"),
            "t:1:43: the request is sent before the one above it, expected requests in order of arrival");
  EXPECT_EQ(error_of("llmservingsim",
                     "{\"arrival_time_ns\":0,\"sub_requests\":[{\"input_toks\":1,\"output_toks\":1,"
                     "\"tool_duration_ns\":-4}]}\n"),
            "t:1:89: tool_duration_ns is -4: the session ends before it begins, expected 0 or more");
}

TEST(TraceErrors, OfSessionsNameWhatIsMissing) {
  EXPECT_EQ(error_of("weka", "{\"id\":\"a\"}\n"), "t:1:1: requests is missing, expected id, block_size and requests");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":0,\"in\":64}]}\n"),
            "t:1:14: out is missing, expected t, in and out of a request");
  EXPECT_EQ(error_of("weka", "{\"hash_id_scope\":\"global\",\"requests\":[]}\n"),
            "t:1:18: hash_id_scope is \"global\", expected \"local\": ids that mean something within their session");
  EXPECT_EQ(error_of("weka", "{\"block_size\":16,\"requests\":[]}\n"), "t:1:15: block_size is 16, expected 64 tokens");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":0,\"type\":\"subagent\"}]}\n"),
            "t:1:14: requests is missing, expected t and requests of a sub-agent");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":0,\"type\":\"subagent\",\"requests\":[{\"t\":0,\"in\":64}]}]}\n"),
            "t:1:51: out is missing, expected t, in and out of a request");
  EXPECT_EQ(error_of("weka", "{\"requests\":[{\"t\":0,\"in\":64,\"out\":2,\"hash_ids\":[1,2]}]}\n"),
            "t:1:14: hash_ids has 2 entries, expected at most one for each 64 of 64 tokens");
  EXPECT_EQ(error_of("llmservingsim", "{\"sub_requests\":[]}\n"),
            "t:1:1: arrival_time_ns is missing, expected session_id, arrival_time_ns and sub_requests");
  EXPECT_EQ(error_of("llmservingsim", "{\"arrival_time_ns\":0,\"sub_requests\":[{\"input_toks\":1}]}\n"),
            "t:1:38: output_toks is missing, expected input_toks and output_toks of a request");
  const std::string chat = ",\"timestamp\":1,\"input_length\":16,\"output_length\":3,\"hash_ids\":[1]}\n";
  EXPECT_EQ(error_of("bailian", "{\"chat_id\":1,\"parent_chat_id\":1" + chat),
            "t:1:31: parent_chat_id is 1, the chat itself, expected one before it, or -1");
  EXPECT_EQ(error_of("bailian", "{\"chat_id\":1" + chat + "{\"chat_id\":1" + chat),
            "t:2:1: chat_id 1 is there twice, expected one of each request");
}

TEST(TraceErrors, LengthsThatMakeNoSense) {
  EXPECT_EQ(error_of("mooncake", mooncake("0", "0", "1", "[]")),
            "t:1:34: input_length is 0, expected 1 to 10000000 tokens, or --skip-invalid (skip_invalid: true)");
  EXPECT_EQ(error_of("mooncake", mooncake("0", "1", "-7", "[1]")),
            "t:1:54: output_length is -7, expected 1 to 10000000 tokens");
  EXPECT_EQ(error_of("csv", csv_head + "0,10000001,1\n"),
            "t:2:3: prompt_tokens is 10000001, expected 1 to 10000000 tokens");
  EXPECT_EQ(error_of("azure", azure_head + "2023-11-16 18:15:46,5,0\n"),
            "t:2:23: GeneratedTokens is 0, expected 1 to 10000000 tokens, or --skip-invalid (skip_invalid: true)");
}

TEST(TraceErrors, BlocksThatDoNotFitTheLength) {
  EXPECT_EQ(error_of("mooncake", mooncake("0", "513", "1", "[1]")),
            "t:1:71: hash_ids has 1 entries, expected 2: one for each 512 of 513 tokens");
  EXPECT_EQ(error_of("bailian", mooncake("0", "16", "1", "[1, 2]")),
            "t:1:70: hash_ids has 2 entries, expected 1: one for each 16 of 16 tokens");
}

TEST(TraceErrors, TimesThatGoBack) {
  EXPECT_EQ(error_of("mooncake", mooncake("2000", "1", "1", "[1]") + mooncake("1500", "1", "1", "[1]")),
            "t:2:15: the request arrives 1.5 s after the start, 0.5 s before the one above it, expected requests in "
            "order of arrival, or --sort (sort: true)");
  EXPECT_EQ(
      error_of("azure", azure_head + "2023-11-16 18:15:46.5,1,1\n2023-11-16 18:15:46.4,1,1\n"),
      "t:3:1: TIMESTAMP 2023-11-16 18:15:46.4 is before the line above, expected requests in order of arrival, or "
      "--sort (sort: true)");
  const std::string outside =
      "the request arrives before the trace's start or a hundred years after it, expected a time since the start";
  EXPECT_EQ(error_of("csv", csv_head + "-1,1,1\n"), "t:2:1: " + outside);
  EXPECT_EQ(error_of("csv", csv_head + "1e300,1,1\n"), "t:2:1: " + outside);
  EXPECT_EQ(error_of("csv", csv_head + "nan,1,1\n"), "t:2:1: " + outside);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
