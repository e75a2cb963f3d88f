#pragma once
// Options that other libraries add to a struct of options: one plain struct of each type, with its
// default values until somebody asks to change it. Copies are deep, and an assignment leaves every
// part where it lies in memory, so that a Binding to it stays valid.

#include <map>
#include <memory>
#include <typeindex>

namespace adagp::core {

class Parts {
 public:
  Parts() = default;
  Parts(const Parts& other) { *this = other; }
  Parts& operator=(const Parts& other) {
    if (this == &other) return *this;
    for (auto& [type, part] : parts_) {
      if (!other.parts_.contains(type)) part->reset();
    }
    for (const auto& [type, part] : other.parts_) {
      std::unique_ptr<Part>& own = parts_[type];
      if (own) {
        own->assign(*part);
      } else {
        own = part->copy();
      }
    }
    return *this;
  }
  ~Parts() = default;

  template <typename T>
  T& get() {
    std::unique_ptr<Part>& part = parts_[typeid(T)];
    if (!part) part = std::make_unique<Of<T>>();
    return static_cast<Of<T>&>(*part).value;
  }
  template <typename T>
  const T& get() const {
    static const T kDefault{};
    const auto found = parts_.find(typeid(T));
    return found == parts_.end() ? kDefault : static_cast<const Of<T>&>(*found->second).value;
  }

 private:
  struct Part {
    virtual ~Part() = default;
    virtual std::unique_ptr<Part> copy() const = 0;
    virtual void assign(const Part& other) = 0;
    virtual void reset() = 0;
  };
  template <typename T>
  struct Of : Part {
    std::unique_ptr<Part> copy() const override { return std::make_unique<Of>(*this); }
    void assign(const Part& other) override { value = static_cast<const Of&>(other).value; }
    void reset() override { value = T(); }
    T value{};
  };

  std::map<std::type_index, std::unique_ptr<Part>> parts_;
};

}  // namespace adagp::core
