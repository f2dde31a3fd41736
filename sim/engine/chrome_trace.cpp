#include "sim/engine/chrome_trace.h"

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
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

// Where a timeline goes.

class TraceOutput {
 public:
  virtual ~TraceOutput() = default;
  /// A failure is remembered and reported by close().
  virtual void write(std::string_view text) = 0;
  /// Flushes; throws TraceWriteError if anything could not be written.
  virtual void close() = 0;
};

namespace {

// Passes bytes on to a stream, whose state remembers a failure. Boost's own adapters lose a short write.
struct StreamSink {
  using char_type = char;
  using category = boost::iostreams::sink_tag;

  std::ostream* out;

  std::streamsize write(const char* bytes, std::streamsize count) {
    out->write(bytes, count);
    return count;
  }
};

class StreamOutput : public TraceOutput {
 public:
  explicit StreamOutput(std::ostream& out, std::string name = "the trace") : out_(out), name_(std::move(name)) {}

  void write(std::string_view text) override { out_.write(text.data(), static_cast<std::streamsize>(text.size())); }

  void close() override {
    out_.flush();
    if (!out_) throw TraceWriteError("cannot write " + name_);
  }

 private:
  std::ostream& out_;
  std::string name_;
};

class FileOutput final : public TraceOutput {
 public:
  FileOutput(const std::string& path, bool gzip) : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
    if (!file_) throw TraceWriteError("cannot create " + path + ": " + std::strerror(errno));
    if (gzip) {
      gzip_.push(boost::iostreams::gzip_compressor());
      gzip_.push(StreamSink{&file_});
    }
  }

  void write(std::string_view text) override {
    std::ostream& out = gzip_.empty() ? static_cast<std::ostream&>(file_) : gzip_;
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  }

  void close() override {
    const bool compressed = gzip_.empty() || gzip_.good();  // a stream without filters is never good
    if (!gzip_.empty()) gzip_.reset();                      // writes the rest and the checksum to file_
    file_.close();
    if (!compressed || !file_) throw TraceWriteError("cannot write " + path_ + " (is the disk full?)");
  }

 private:
  std::string path_;
  std::ofstream file_;
  boost::iostreams::filtering_ostream gzip_;  // empty where there is no compression
};

}  // namespace

/// Throws TraceWriteError if the file cannot be created.
std::unique_ptr<TraceOutput> open_trace_file(const std::string& path, bool gzip) {
  return std::make_unique<FileOutput>(path, gzip);
}

std::unique_ptr<TraceOutput> borrow_trace_stream(std::ostream& out) {
  return std::make_unique<StreamOutput>(out);
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

  std::unique_ptr<TraceOutput> output;  // null once closed
  std::string text;                     // not yet written
  bool first = true;
  std::map<std::string, Process> processes;
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
  const std::unique_ptr<TraceOutput> output = std::move(state_->output);
  state_->text += "\n]}\n";
  output->write(state_->text);
  state_->text.clear();
  output->close();
}

}  // namespace kvsim::engine
