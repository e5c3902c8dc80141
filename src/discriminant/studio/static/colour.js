// A colour input. With a plain input, an update of the page while the user chooses would restore the old colour; this one
// changes only when the server sends another colour.
export default {
  template: `<input type="color" @change="$emit('change', $event.target.value)">`,
  props: { value: String },
  emits: ["change"],
  mounted() {
    this.$el.value = this.value;
  },
  watch: {
    value(colour) {
      this.$el.value = colour;
    },
  },
};
