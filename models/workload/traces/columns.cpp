// Logs of any form: CSV with a header, or one JSON object a line, whose columns or members are named by who reads them.
#include <fmt/format.h>
#include <simdjson.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/schema/spelling.h"
#include "models/schema/text_number.h"
#include "models/schema/units.h"
#include "models/workload/csv_table.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

struct Cell {
  std::string_view name;
  std::string_view text;  ///< of a JSON string, what is within its quotes
  std::size_t byte = 0;
};

/// Names that every row has: arrival, prompt and output. What comes behind them may be left out, or empty.
constexpr std::size_t kNeeded = 3;

/// Rows of a log, whatever it is written in; cells in the order of the names.
class Rows {
 public:
  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  virtual ~Rows() = default;
  /// False at the end.
  virtual bool next() = 0;
  /// Cell of the current row, valid until the next.
  [[nodiscard]] virtual Cell cell(std::size_t n) const = 0;
  /// Takes the list of the current row, and where it is in its line.
  virtual std::pair<std::vector<std::uint64_t>, std::size_t> take_blocks() { return {}; }
  /// When all wanted rows were read: fails where a name was in none of them.
  virtual void check_names() const = 0;
};

class CsvRows final : public Rows {
 public:
  CsvRows(LineReader& lines, std::span<const std::string_view> names)
      : table_(lines, names, {}, CsvTable::Quotes::around) {}
  bool next() override { return table_.next(); }
  [[nodiscard]] Cell cell(std::size_t n) const override {
    const CsvTable::Field field = table_.field(n);
    return {field.name, field.text, field.byte};
  }
  void check_names() const override {}  // they are in the header

 private:
  CsvTable table_;
};

class JsonRows final : public Rows {
 public:
  /// `blocks`: name of the member that is a list; empty: none is.
  JsonRows(LineReader& lines, std::span<const std::string_view> names, std::string_view blocks)
      : lines_(lines),
        names_(names),
        blocks_(blocks),
        shape_(fmt::format("{}{}{}", fmt::join(names.first(kNeeded), ", "), blocks.empty() ? "" : ", ", blocks)),
        cells_(names.size()),
        there_(names.size()) {}

  bool next() override {
    if (!lines_.next()) return false;
    for (std::size_t n = 0; n < names_.size(); ++n) cells_[n] = {names_[n], {}, kMissing};
    list_byte_ = kMissing;
    JsonLine line(lines_, "request", shape_);
    line.each_member(parser_, [&](json::field& field) { read(line, field); });
    for (std::size_t n = 0; n < cells_.size(); ++n) {
      const bool there = cells_[n].byte != kMissing;
      if (!there && n < kNeeded) {
        lines_.fail(0, fmt::format("{} is missing, expected an object with {}", cells_[n].name, shape_));
      }
      there_[n] = there_[n] || there;
    }
    first_ = false;
    return true;
  }

  void check_names() const override {
    for (std::size_t n = kNeeded; !first_ && n < names_.size(); ++n) {
      if (there_[n]) continue;
      lines_.fail_file(fmt::format("none of the requests read has the member {}{}", names_[n],
                                   schema::suggest(names_[n], first_keys_)));
    }
  }

  [[nodiscard]] Cell cell(std::size_t n) const override { return cells_[n]; }
  std::pair<std::vector<std::uint64_t>, std::size_t> take_blocks() override {
    if (list_byte_ == kMissing)
      lines_.fail(0, fmt::format("{} is missing, expected an object with {}", blocks_, shape_));
    return {std::move(list_), list_byte_};
  }

 private:
  static constexpr std::size_t kMissing = static_cast<std::size_t>(-1);

  void read_list(JsonLine& line, json::field& field) {
    json::value value = field.value();
    const std::size_t byte = line.byte_of(value.raw_json_token().data());
    if (list_byte_ != kMissing) lines_.fail(byte, fmt::format("{} is there twice, expected it once", blocks_));
    list_byte_ = byte;
    line.read_blocks(blocks_, value, list_);
  }

  void read(JsonLine& line, json::field& field) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) line.malformed_here();
    if (first_) first_keys_.emplace_back(key);
    if (!blocks_.empty() && key == blocks_) return read_list(line, field);
    for (Cell& cell : cells_) {
      if (cell.name != key) continue;
      json::value value = field.value();
      std::string_view token = value.raw_json_token();
      const std::size_t byte = line.byte_of(token.data());
      if (cell.byte != kMissing) lines_.fail(byte, fmt::format("{} is there twice, expected it once", cell.name));
      if (!token.empty() && token.front() == '"') {
        if (value.get_string().get(cell.text) != simdjson::SUCCESS) line.malformed_here();
      } else {
        if (!token.empty() && (token.front() == '{' || token.front() == '[')) {
          line.wrong(cell.name, token, "a number or text");
        }
        const auto last = token.find_last_not_of(" \t\r\n");
        cell.text = token.substr(0, last == std::string_view::npos ? 0 : last + 1);
      }
      cell.byte = byte;
      return;
    }
  }

  LineReader& lines_;
  std::span<const std::string_view> names_;
  std::string_view blocks_;
  std::string shape_;
  std::vector<std::uint64_t> list_;
  std::size_t list_byte_ = kMissing;
  json::parser parser_;
  std::vector<Cell> cells_;
  std::vector<bool> there_;  // in a request so far
  bool first_ = true;
  std::vector<std::string> first_keys_;  // of the first request
};

/// Reads times of one form; where it is to be found, the first one says it.
class Clock {
 public:
  Clock(const LineReader& lines, TimeForm form) : lines_(lines), form_(form) {}

  /// ns since any moment.
  std::int64_t ns(const Cell& cell) {
    if (form_ == TimeForm::found) find(cell);
    const std::optional<std::int64_t> ns =
        form_ == TimeForm::date ? parse_date(cell.text) : parse_decimal_ns(cell.text, digits());
    if (ns) return *ns;
    lines_.fail(cell.byte,
                fmt::format("{} is \"{}\", expected {}", cell.name, cell.text.substr(0, 40),
                            form_ == TimeForm::date ? "a date such as 2023-11-16T18:15:46.68Z" : "a number, the time"));
  }

 private:
  [[nodiscard]] int digits() const {
    return form_ == TimeForm::milliseconds   ? 6
           : form_ == TimeForm::microseconds ? 3
           : form_ == TimeForm::nanoseconds  ? 0
                                             : 9;
  }

  void find(const Cell& cell) {
    if (parse_date(cell.text)) {
      form_ = TimeForm::date;
      return;
    }
    const auto value = schema::number_from<double>(cell.text);
    constexpr double from = 946'684'800, until = 4'102'444'800;  // 2000 to 2100, s since 1970
    double unit = 1;
    for (const TimeForm form :
         {TimeForm::seconds, TimeForm::milliseconds, TimeForm::microseconds, TimeForm::nanoseconds}) {
      if (value && *value >= from * unit && *value < until * unit) {
        form_ = form;
        return;
      }
      unit *= 1000;
    }
    lines_.fail(cell.byte,
                value ? fmt::format("{} is {}, which is no time since 1970 in this century, expected the unit of times "
                                    "beside the columns: time: s, ms, us or ns",
                                    cell.name, cell.text.substr(0, 40))
                      : fmt::format("{} is \"{}\", expected a date such as 2023-11-16T18:15:46.68Z, or time since 1970",
                                    cell.name, cell.text.substr(0, 40)));
  }

  const LineReader& lines_;
  TimeForm form_;
};

std::int64_t tokens_of(const LineReader& lines, const TraceBuilder& trace, const Cell& cell) {
  const auto value = schema::number_from<std::int64_t>(cell.text);
  if (!value) {
    lines.fail(cell.byte,
               fmt::format("{} is \"{}\", expected a whole number of tokens", cell.name, cell.text.substr(0, 40)));
  }
  trace.check_tokens(cell.name, *value, cell.byte);
  return *value;
}

bool given(const Cell& name) {
  return !name.text.empty() && name.text != "null";
}

SessionTurn turn_of_agent(const LineReader& lines, SessionTurns& sessions, const Cell& parent, const Cell& session,
                          std::int64_t arrival_ns, std::int64_t end_ns) {
  if (parent.text == session.text) {
    lines.fail(parent.byte, fmt::format("{} is \"{}\", the session itself, expected another one, or nothing",
                                        parent.name, parent.text.substr(0, 40)));
  }
  if (!sessions.may_be_of(parent.text, session.text)) {
    lines.fail(parent.byte,
               fmt::format("{} is \"{}\", which the first request of session \"{}\" does not say, expected the session "
                           "that began it there",
                           parent.name, parent.text.substr(0, 40), session.text.substr(0, 40)));
  }
  const auto turn = sessions.next_of(parent.text, session.text, arrival_ns, end_ns);
  if (turn) return *turn;
  lines.fail(parent.byte,
             fmt::format("{} is \"{}\", of which no request came before, expected a session that has begun",
                         parent.name, parent.text.substr(0, 40)));
}

}  // namespace

std::string problem_with(const TraceColumns& columns) {
  if (columns.arrival.empty() || columns.prompt.empty() || columns.output.empty()) {
    return "expected the names of arrival, prompt and output";
  }
  std::vector<std::string_view> names;
  for (const std::string* name : {&columns.arrival, &columns.prompt, &columns.output, &columns.session, &columns.end,
                                  &columns.parent, &columns.blocks}) {
    if (name->empty()) continue;
    for (const std::string_view other : names) {
      if (other == *name) return fmt::format("\"{}\" is named twice, expected a column for each", *name);
    }
    names.push_back(*name);
  }
  if (!columns.end.empty() && columns.session.empty()) {
    return "end tells how long somebody thinks between turns of a session: name session too";
  }
  if (!columns.parent.empty() && columns.session.empty()) {
    return "parent is the session whose turn began another: name session too";
  }
  if (columns.blocks.empty() != (columns.block_tokens == 0)) {
    return columns.blocks.empty() ? "block_size is of blocks: name blocks too"
                                  : "blocks are of a size: give block_size too";
  }
  if (columns.block_tokens < 0 || columns.block_tokens > most_block_tokens) {
    return fmt::format("block_size is {}, expected 1 to {} tokens", columns.block_tokens, most_block_tokens);
  }
  return {};
}

namespace {

void read_columns(LineReader& lines, TraceBuilder& trace) {
  const std::optional<TraceColumns>& columns = trace.options().columns;
  if (!columns) lines.fail_file("is a log of any form, expected the names of its columns");
  if (const std::string problem = problem_with(*columns); !problem.empty()) lines.fail_file("columns: " + problem);
  std::vector<std::string_view> names{columns->arrival, columns->prompt, columns->output};
  const bool has_session = !columns->session.empty(), has_end = !columns->end.empty();
  if (has_session) names.emplace_back(columns->session);
  if (has_end) names.emplace_back(columns->end);
  const std::size_t parent_at = names.size();
  const bool has_parent = !columns->parent.empty();
  if (has_parent) names.emplace_back(columns->parent);

  std::unique_ptr<Rows> rows;
  if (!lines.next()) lines.fail_file("is empty, expected CSV with a header, or JSON lines");
  const std::string_view first = lines.line();
  const std::size_t begin = first.find_first_not_of(" \t");
  const bool objects = begin != std::string_view::npos && first[begin] == '{';
  lines.hold();
  if (objects) {
    rows = std::make_unique<JsonRows>(lines, names, columns->blocks);
  } else {
    if (!columns->blocks.empty()) lines.fail(0, "is CSV, which has no lists, expected JSON lines for blocks");
    rows = std::make_unique<CsvRows>(lines, names);
  }
  Clock clock(lines, columns->time);
  SessionTurns sessions;
  std::optional<std::int64_t> start_ns;
  trace.each([&] {
    if (!rows->next()) return false;
    const Cell arrival = rows->cell(0);
    const std::int64_t at_ns = clock.ns(arrival);
    if (trace.noted(at_ns)) return true;
    if (start_ns && at_ns < *start_ns) {
      trace.fail_order(arrival.byte, fmt::format("{} is {:.9g} s before that of the first request", arrival.name,
                                                 static_cast<double>(*start_ns - at_ns) / kNsPerSecond));
    }
    const std::int64_t prompt = tokens_of(lines, trace, rows->cell(1));
    const std::int64_t output = tokens_of(lines, trace, rows->cell(2));
    if (!start_ns) start_ns = at_ns;
    SessionTurn turn;
    if (has_session) {
      const Cell name = rows->cell(3);
      std::int64_t end_ns = -1;
      if (has_end) {
        const Cell end = rows->cell(4);
        if (given(end)) end_ns = clock.ns(end) - *start_ns;
        if (given(end) && end_ns < at_ns - *start_ns) {
          lines.fail(end.byte,
                     fmt::format("{} is {:.9g} s before {}: session \"{}\" ends before it begins, expected the "
                                 "time at which the request was answered",
                                 end.name, static_cast<double>(at_ns - *start_ns - end_ns) / kNsPerSecond, arrival.name,
                                 name.text.substr(0, 40)));
        }
      }
      const Cell parent = has_parent ? rows->cell(parent_at) : Cell{};
      if (given(name)) {
        turn = given(parent) ? turn_of_agent(lines, sessions, parent, name, at_ns - *start_ns, end_ns)
                             : sessions.next(name.text, at_ns - *start_ns, end_ns);
      } else if (given(parent)) {
        lines.fail(parent.byte, fmt::format("{} is \"{}\" where {} is empty, expected the session that it began",
                                            parent.name, parent.text.substr(0, 40), name.name));
      }
    }
    std::vector<std::uint64_t> blocks;
    if (!columns->blocks.empty()) {
      std::size_t byte = 0;
      std::tie(blocks, byte) = rows->take_blocks();
      const std::int64_t most = (prompt + columns->block_tokens - 1) / columns->block_tokens;
      if (std::ssize(blocks) > most) {
        lines.fail(byte, fmt::format("{} has {} blocks, expected at most {} of {} tokens for a prompt of {}",
                                     columns->blocks, blocks.size(), most, columns->block_tokens, prompt));
      }
    }
    trace.add(at_ns - *start_ns, arrival.byte, prompt, output, std::move(blocks), turn);
    return true;
  });
  rows->check_names();
}

}  // namespace

TraceFormat trace_columns() {
  return {.name = "columns",
          .description = "CSV or JSON lines: what workload.trace.columns or --columns names",
          .read = read_columns};
}

}  // namespace kvsim::models
