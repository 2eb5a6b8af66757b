"""Other readings of the described systems than those of the package, each a method with a name and the settings of its system."""
