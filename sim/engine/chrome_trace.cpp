#include "sim/engine/chrome_trace.h"

#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/json_escape.h"
#include "sim/engine/trace_output.h"

namespace kvsim::engine {
namespace {

constexpr std::size_t flush_at = std::size_t{1} << 16;

void append(std::string& text, std::uint64_t value) {
  text += std::to_string(value);
}

// Shortest form that reads back as the same double; JSON has no NaN and no infinity.
void append(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  text.append(digits, end);
}

void append_microseconds(std::string& text, std::int64_t ns) {
  if (ns < 0) text += '-';
  const std::uint64_t magnitude = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  append(text, magnitude / 1000);
  const std::string decimals = std::to_string(1000 + magnitude % 1000);
  text.append(".").append(decimals, 1);
}

}  // namespace

struct ChromeTrace::State {
  struct Row {
    int process = 0;
    int thread = 0;    // of a track
    std::string name;  // of a counter, escaped
  };

  explicit State(std::unique_ptr<TraceOutput> to) : output(std::move(to)) {
    text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  }

  std::string& begin_event() {
    KVSIM_ALWAYS(output != nullptr, "the trace is closed");
    if (text.size() >= flush_at) flush();
    text += first ? "\n" : ",\n";
    first = false;
    return text;
  }

  void flush() {
    output->write(text);
    text.clear();
  }

  void name_of(std::string_view what, int process, int thread, std::string_view name) {
    std::string& event = begin_event();
    event.append("{\"ph\":\"M\",\"name\":\"").append(what).append("\",\"pid\":").append(std::to_string(process));
    event.append(",\"tid\":").append(std::to_string(thread)).append(",\"args\":{\"name\":\"");
    append_json_escaped(event, name);
    event += "\"}}";
  }

  int process_of(std::string_view group) {
    const auto [entry, inserted] = processes.try_emplace(std::string(group), static_cast<int>(processes.size()) + 1);
    if (inserted) name_of("process_name", entry->second, 0, group);
    return entry->second;
  }

  std::unique_ptr<TraceOutput> output;  // null once closed
  std::string text;                     // not yet written
  bool first = true;
  std::map<std::string, int> processes;
  std::vector<Row> tracks;
  std::vector<Row> counters;
};

ChromeTrace::ChromeTrace(const std::string& path, TraceCompression compression)
    : state_(std::make_unique<State>(open_trace_file(path, compression == TraceCompression::from_name
                                                               ? path.ends_with(".gz")
                                                               : compression == TraceCompression::gzip))) {}

ChromeTrace::ChromeTrace(std::ostream& out) : state_(std::make_unique<State>(borrow_trace_stream(out))) {}

ChromeTrace::~ChromeTrace() {
  try {
    close();
  } catch (const std::exception&) {
    // A destructor cannot report it; who wants to know calls close().
  }
}

int ChromeTrace::add_track(std::string_view group, std::string_view name) {
  const int process = state_->process_of(group);
  const int thread = static_cast<int>(state_->tracks.size()) + 1;
  state_->name_of("thread_name", process, thread, name);
  state_->tracks.push_back({process, thread, {}});
  return thread - 1;
}

int ChromeTrace::add_counter(std::string_view group, std::string_view name) {
  State::Row row{state_->process_of(group), 0, {}};
  append_json_escaped(row.name, name);
  state_->counters.push_back(std::move(row));
  return static_cast<int>(state_->counters.size()) - 1;
}

void ChromeTrace::slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner,
                        double value) {
  KVSIM_ALWAYS(end >= begin, "a slice must not end before it begins");
  const State::Row& row = state_->tracks.at(static_cast<std::size_t>(track));
  std::string& event = state_->begin_event();
  event += "{\"ph\":\"X\",\"name\":\"";
  append_json_escaped(event, name);
  event.append("\",\"pid\":").append(std::to_string(row.process));
  event.append(",\"tid\":").append(std::to_string(row.thread)).append(",\"ts\":");
  append_microseconds(event, begin.ns);
  event += ",\"dur\":";
  append_microseconds(event, (end - begin).ns);
  event += ",\"args\":{";
  if (owner != no_owner) {
    event += "\"request\":";
    append(event, owner);
    event += ',';
  }
  event += "\"value\":";
  append(event, value);
  event += "}}";
}

void ChromeTrace::counter(int counter, SimTime at, double value) {
  const State::Row& row = state_->counters.at(static_cast<std::size_t>(counter));
  std::string& event = state_->begin_event();
  event.append("{\"ph\":\"C\",\"name\":\"").append(row.name);
  event.append("\",\"pid\":").append(std::to_string(row.process)).append(",\"ts\":");
  append_microseconds(event, at.ns);
  event += ",\"args\":{\"value\":";
  append(event, value);
  event += "}}";
}

void ChromeTrace::close() {
  if (state_->output == nullptr) return;
  const std::unique_ptr<TraceOutput> output = std::move(state_->output);
  state_->text += "\n]}\n";
  output->write(state_->text);
  state_->text.clear();
  output->close();
}

}  // namespace kvsim::engine
