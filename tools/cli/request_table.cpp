#include "tools/cli/request_table.h"

#include <ostream>

#include <fmt/format.h>

#include "tools/page/page.h"

namespace kvsim::cli {
RequestTable::RequestTable(std::ostream& out) : out_(out) {
  out_ << "request,arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s,largest_gap_s,path,found_tokens,"
          "stored_tokens,rounds,drafted_tokens,accepted_tokens,verifier_tokens,direct_tokens,class,session,turn,"
          "replica\n";
}

void RequestTable::name_classes(const std::vector<serving::ClassConfig>& classes) {
  for (const serving::ClassConfig& one : classes) classes_.push_back(page::csv_field(one.name));
}

void RequestTable::entered(std::uint64_t id, const models::RequestSpec& spec) {
  if (spec.session >= 0) turns_.emplace(id, std::pair{spec.session, spec.turn});
}

void RequestTable::refused(engine::SimTime arrival) {
  unfinished_.erase(unfinished_.find(arrival));
  write_those_due();
}

void RequestTable::finished(const serving::Request& r, std::string_view path) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto seconds = [](engine::SimTime t) { return fmt::format("{}.{:09}", t.ns / kSecond, t.ns % kSecond); };
  const auto number = [](std::int32_t n, std::int32_t none) { return n == none ? "" : fmt::format("{}", n); };
  const serving::TokenRecord& tokens = *r.record;
  const auto of_session = turns_.find(r.id);
  const auto [session, turn] =
      of_session == turns_.end() ? std::pair<std::int32_t, std::int32_t>{-1, 0} : of_session->second;
  waiting_.push(
      {r.arrival, r.id,
       fmt::format("{},{},{},{},{},{},{:.9f},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.id, seconds(r.arrival), r.prompt,
                   r.output, seconds(tokens.first_token), seconds(tokens.last_token), tokens.largest_gap_s, path,
                   r.kv.found(), r.prefix->tokens, r.rounds(), tokens.drafted_tokens, tokens.accepted_tokens,
                   tokens.corrections, tokens.direct_tokens, r.kind < classes_.size() ? classes_[r.kind] : "",
                   number(session, -1), number(turn, 0), number(r.replica, -1))});
  if (of_session != turns_.end()) turns_.erase(of_session);
  unfinished_.erase(unfinished_.find(r.arrival));
  write_those_due();
}

void RequestTable::write_those_due() {
  while (!waiting_.empty() && (unfinished_.empty() || waiting_.top().arrival < *unfinished_.begin())) write_first();
}

void RequestTable::write_first() {
  out_ << waiting_.top().text;
  waiting_.pop();
}

void RequestTable::close() {
  while (!waiting_.empty()) write_first();
}

}  // namespace kvsim::cli
