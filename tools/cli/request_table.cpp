#include "tools/cli/request_table.h"

#include <fmt/format.h>

#include "tools/cli/console.h"

namespace kvsim::cli {

RequestTable::RequestTable(std::string path) : file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) throw OutputError(fmt::format("cannot write {}", path));
  std::fputs(
      "request,arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s,largest_gap_s,stored_tokens,"
      "drafted_tokens,accepted_tokens,verifier_tokens,direct_tokens\n",
      file_.get());
}

void RequestTable::refused(engine::SimTime arrival) {
  unfinished_.erase(unfinished_.find(arrival));
  write_those_due();
}

void RequestTable::finished(const serving::Request& r) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto seconds = [](engine::SimTime t) { return fmt::format("{}.{:09}", t.ns / kSecond, t.ns % kSecond); };
  const serving::TokenRecord& tokens = r.record;
  waiting_.push(
      {r.arrival, r.id,
       fmt::format("{},{},{},{},{},{},{:.9f},{},{},{},{},{}\n", r.id, seconds(r.arrival), r.prompt, r.output,
                   seconds(tokens.first_token), seconds(tokens.last_token), tokens.largest_gap_s, r.prefix.tokens,
                   tokens.drafted_tokens, tokens.accepted_tokens, tokens.corrections, tokens.direct_tokens)});
  unfinished_.erase(unfinished_.find(r.arrival));
  write_those_due();
}

void RequestTable::write_those_due() {
  while (!waiting_.empty() && (unfinished_.empty() || waiting_.top().arrival < *unfinished_.begin())) write_first();
}

void RequestTable::write_first() {
  std::fputs(waiting_.top().text.c_str(), file_.get());
  waiting_.pop();
}

bool RequestTable::close() {
  while (!waiting_.empty()) write_first();  // before some that never finished
  const bool whole = std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0;
  file_.reset();
  return whole;
}

}  // namespace kvsim::cli
