#include "sim/engine/trace_output.h"

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "sim/engine/chrome_trace.h"

namespace kvsim::engine {
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

std::unique_ptr<TraceOutput> open_trace_file(const std::string& path, bool gzip) {
  return std::make_unique<FileOutput>(path, gzip);
}

std::unique_ptr<TraceOutput> borrow_trace_stream(std::ostream& out) {
  return std::make_unique<StreamOutput>(out);
}

}  // namespace kvsim::engine
