#pragma once
// Where a run's store is, and how it is reached. No torch here.

#include <string>
#include <utility>

namespace adagp::comm {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// A file of this process and those it starts: it has no name in any folder, other users cannot open
// it, and it is gone with the last of these processes.
class StoreFile {
 public:
  StoreFile();
  // The same in all these processes.
  std::string path() const;

 private:
  Descriptor file_;
};

// Whether a host's name is the loopback interface's.
bool on_this_machine(const std::string& host);

// Listens on the interface of `host` and on no other. Throws Error with the system's reason.
Descriptor listen_at(const std::string& host, int port);

// What is to be said of a store at this address that did not answer: whether anything listens.
std::string silence_at(const std::string& host, int port);

}  // namespace adagp::comm
