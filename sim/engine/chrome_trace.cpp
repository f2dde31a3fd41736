#include "sim/engine/chrome_trace.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/trace.h"

namespace kvsim::engine {

// Text as the inside of a JSON string.

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

/// Appends `text` escaped. Bytes that are not UTF-8 become U+FFFD, since JSON knows no others.
void append_json_escaped(std::string& to, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      to += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      to.append("\\").append(1, text.front());
    } else if (c < 0x20) {
      to.append("\\u00").append(1, hex[c / 16]).append(1, hex[c % 16]);
    } else {
      to.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

namespace {

constexpr std::size_t flush_at = std::size_t{1} << 16;
constexpr int first_transfer = 1 << 20;  // behind every track that computes

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
  struct Process {
    int number = 0;
    std::string name;
    bool named = false;  // in the file
  };
  struct Row {
    Process* process = nullptr;
    int thread = 0;  // of a track
    std::string name;
    bool named = false;
    double last = std::numeric_limits<double>::quiet_NaN();  // of a counter
  };

  explicit State(std::ostream& to) : output(&to) { text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["; }

  std::string& begin_event() {
    KVSIM_ALWAYS(output != nullptr, "the trace is closed");
    if (text.size() >= flush_at) flush();
    text += first ? "\n" : ",\n";
    first = false;
    return text;
  }

  void flush() {
    output->write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }

  std::string& begin_metadata(std::string_view what, int process, int thread) {
    std::string& event = begin_event();
    event.append("{\"ph\":\"M\",\"name\":\"").append(what).append("\",\"pid\":").append(std::to_string(process));
    return event.append(",\"tid\":").append(std::to_string(thread)).append(",\"args\":{");
  }

  /// `what` is "process" or "thread".
  void name_and_place(const std::string& what, int process, int thread, std::string_view name, int place) {
    std::string& named = begin_metadata(what + "_name", process, thread);
    named += "\"name\":\"";
    append_json_escaped(named, name);
    named += "\"}}";
    begin_metadata(what + "_sort_index", process, thread).append("\"sort_index\":").append(std::to_string(place)) +=
        "}}";
  }

  /// Before the first event of a row: rows that stay empty would only be in the way.
  void name(Row& row) {
    if (row.named) return;
    row.named = true;
    Process& process = *row.process;
    if (!process.named) name_and_place("process", process.number, 0, process.name, process.number);
    process.named = true;
    const int place = row.thread + (row.name == kGpuRow ? 0 : first_transfer);
    if (row.thread != 0) name_and_place("thread", process.number, row.thread, row.name, place);
  }

  Process* process_of(std::string_view group) {
    const auto [entry, inserted] = processes.try_emplace(std::string(group));
    if (inserted) entry->second = {static_cast<int>(processes.size()), std::string(group)};
    return &entry->second;
  }

  std::ostream* output;  // null once closed
  std::string text;      // not yet written
  bool first = true;
  std::map<std::string, Process> processes;
  std::vector<Row> tracks;
  std::vector<Row> counters;
};

ChromeTrace::ChromeTrace(std::ostream& out) : state_(std::make_unique<State>(out)) {}

ChromeTrace::~ChromeTrace() {
  try {
    close();
  } catch (const std::exception&) {
    // A stream may be told to throw, which a destructor must not.
  }
}

int ChromeTrace::add_track(std::string_view group, std::string_view name) {
  const int thread = static_cast<int>(state_->tracks.size()) + 1;
  state_->tracks.push_back({state_->process_of(group), thread, std::string(name)});
  return thread - 1;
}

int ChromeTrace::add_counter(std::string_view group, std::string_view name) {
  state_->counters.push_back({state_->process_of(group), 0, std::string(name)});
  return static_cast<int>(state_->counters.size()) - 1;
}

void ChromeTrace::slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner,
                        double value) {
  KVSIM_ALWAYS(end >= begin, "a slice must not end before it begins");
  State::Row& row = state_->tracks.at(static_cast<std::size_t>(track));
  state_->name(row);
  std::string& event = state_->begin_event();
  event += "{\"ph\":\"X\",\"name\":\"";
  append_json_escaped(event, name);
  if (owner != no_owner) {
    event += " of request ";
    append(event, owner);
  }
  event += "\",\"cat\":\"";
  append_json_escaped(event, name);
  event.append("\",\"pid\":").append(std::to_string(row.process->number));
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
  event += row.name == kGpuRow ? "\"requests\":" : "\"bytes\":";
  append(event, value);
  event += "}}";
}

void ChromeTrace::counter(int counter, SimTime at, double value) {
  State::Row& row = state_->counters.at(static_cast<std::size_t>(counter));
  KVSIM_ALWAYS(state_->output != nullptr, "the trace is closed");
  if (value == row.last) return;
  row.last = value;
  state_->name(row);
  std::string& event = state_->begin_event();
  event += "{\"ph\":\"C\",\"name\":\"";
  append_json_escaped(event, row.name);
  event.append("\",\"pid\":").append(std::to_string(row.process->number)).append(",\"ts\":");
  append_microseconds(event, at.ns);
  event += ",\"args\":{\"value\":";
  append(event, value);
  event += "}}";
}

void ChromeTrace::close() {
  if (state_->output == nullptr) return;
  state_->text += "\n]}\n";
  state_->flush();
  state_->output->flush();
  state_->output = nullptr;
}

}  // namespace kvsim::engine
