// A colour to choose. A page that is drawn anew while somebody chooses must not put the old colour back, as it does with
// a plain input: only another colour of the server's changes what is shown.
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
