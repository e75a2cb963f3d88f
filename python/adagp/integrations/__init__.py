"""Plans in other training loops. Each module needs the package of its name."""
